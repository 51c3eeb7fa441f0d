// A partner's receiver that shares no code with hiregate: Node's own http and crypto. It checks each signature over the raw
// body, answers VERIFY with 200, and writes a line of JSON for each export it takes. Then it fetches the documents.
//
// usage: node partner.mjs PORT SECRET
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const [port, secret] = process.argv.slice(2);

// profilesOf are the job applications of an export; none, where the body has no JSON.
function profilesOf(body) {
  try {
    return JSON.parse(body).candidate.profiles ?? [];
  } catch {
    return [];
  }
}

// fetched reads a document until it is there or given up. It retries after 503, for the time that Retry-After says.
async function fetched(url) {
  for (let tries = 0; tries < 10; tries++) {
    const answer = await fetch(url);
    await answer.arrayBuffer();
    if (answer.status !== 503) return;
    await new Promise((resolve) => setTimeout(resolve, 1000 * (Number(answer.headers.get("retry-after")) || 1)));
  }
}

createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const want = Buffer.from(createHmac("sha256", secret).update(body).digest("hex"));
    const got = Buffer.from((request.headers["x-service-signature"] ?? "").toLowerCase());
    if (got.length !== want.length || !timingSafeEqual(got, want)) {
      response.writeHead(401).end();
      return;
    }
    if (request.headers["x-service-event"] === "CANDIDATE-EXPORT") {
      const sha256 = createHash("sha256").update(body).digest("hex");
      console.log(JSON.stringify({ uuid: request.headers["x-service-uuid"], sha256 }));
      for (const { attachments } of profilesOf(body)) for (const { url } of attachments ?? []) fetched(url).catch(() => {});
    }
    response.writeHead(200).end();
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));

process.stdin.on("end", () => process.exit()).resume(); // it ends with whoever started it
