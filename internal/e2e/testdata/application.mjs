// An application behind the gate that shares no code with hiregate: Node's own http and crypto. Its pages show their address
// and who asks, open a websocket (RFC 6455), and get events.
//
// usage: node application.mjs PORT
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt()};`);

const page = (address, who) => `<!doctype html>
<title>The application</title>
<p>${escaped(address)} for ${escaped(who)}</p>
<p id="socket">connecting</p>
<p id="events">waiting</p>
<script>
const said = document.getElementById("socket"), socket = new WebSocket("ws://" + location.host + "/socket")
socket.onmessage = message => said.textContent = message.data
socket.onclose = () => said.textContent = "closed"
const told = document.getElementById("events"), events = new EventSource("/events")
events.onmessage = message => told.textContent = message.data
events.onerror = () => { if (events.readyState === EventSource.CLOSED) told.textContent = "ended" }
</script>
`;

const server = createServer((request, response) => {
  const who = request.headers["x-auth-request-email"] ?? "";
  if (request.url === "/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).write(`data: news for ${who}\n\n`);
    return;
  }
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page(request.url, who));
});

// A websocket says hello to a person, and lasts until the other side ends it.
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  const hello = Buffer.from(`hello ${request.headers["x-auth-request-email"]}`);
  socket.on("error", () => {});
  socket.on("end", () => socket.end()).resume();
  socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
    `Sec-WebSocket-Accept: ${accept.digest("base64")}\r\n\r\n`);
  socket.write(Buffer.concat([Buffer.from([0x81, hello.length]), hello]));
});

server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("listening"));

process.stdin.on("end", () => process.exit()).resume(); // it ends with whoever started it
