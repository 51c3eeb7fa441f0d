// A receiver of notifications that shares no code with hiregate: Node's own http and crypto. It verifies each message as
// Standard Webhooks says, and writes a line of JSON for each that it takes. The first ones are refused, as many as it is told.
//
// usage: node receiver.mjs PORT SECRET [REFUSED]
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const [port, secret, refused = "0"] = process.argv.slice(2);
let left = Number(refused);

function verified(headers, body) {
  const id = headers["webhook-id"], timestamp = headers["webhook-timestamp"];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) {
    return false;
  }
  const want = createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const [version, signature] = one.split(",", 2);
    const got = Buffer.from(signature ?? "", "base64");
    return version === "v1" && got.length === want.length && timingSafeEqual(got, want);
  });
}

createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!verified(request.headers, body)) {
      console.log("a wrong signature");
      response.writeHead(401).end();
      return;
    }
    if (left-- > 0) {
      console.log("refused");
      response.writeHead(500).end();
      return;
    }
    // It may be killed once the line is there: the answer has to be on its way by then.
    const line = JSON.stringify({ id: request.headers["webhook-id"], ...JSON.parse(body) });
    response.writeHead(204).end(() => console.log(line));
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));

process.stdin.on("end", () => process.exit()).resume(); // it ends with whoever started it
