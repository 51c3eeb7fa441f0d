"""Keeps another system in step with a tenant's job applications, by lists of changes and by events.

Usage: SECRET=… [KEY=…] keep_in_step.py URL-OF-THE-TENANT PORT FOLDER
FOLDER/applications.json is what the other system has; FOLDER/events has a line for each event, once."""
import base64, hashlib, hmac, json, os, sys, threading, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

tenant, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
changed, lock, seen = threading.Event(), threading.Lock(), set()


def get(path):
    headers = {"Authorization": "Bearer " + os.environ["KEY"]} if "KEY" in os.environ else {}
    with urllib.request.urlopen(urllib.request.Request(tenant + path, headers=headers), timeout=20) as answer:
        return json.load(answer)


class Events(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        number, at = self.headers["Webhook-Id"], self.headers["Webhook-Timestamp"]
        mac = hmac.new(os.environ["SECRET"].encode(), f"{number}.{at}.".encode() + body, hashlib.sha256)
        good = "v1," + base64.b64encode(mac.digest()).decode() in self.headers["Webhook-Signature"].split()
        with lock:  # an event may come twice: its id tells
            if good and number not in seen:
                with open(os.path.join(folder, "events"), "a") as log:
                    log.write(body.decode() + "\n")
                seen.add(number)
        changed.set()
        self.send_response(204 if good else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


def keep(state):
    path = os.path.join(folder, "applications.json")
    with open(path + ".new", "w") as file:
        json.dump(state, file)
    os.replace(path + ".new", path)


threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", port), Events).serve_forever, daemon=True).start()
print("ready", flush=True)
state = {"cursor": "", "applications": {}}
while True:
    try:  # whatever the events say: what is listed since the cursor is all that changed
        page = get("/job-applications?order=changed&limit=500" + state["cursor"])
        state["applications"].update({one["id"]: one for one in page["items"]})
        for gone in page.get("erased", []):
            state["applications"].pop(gone, None)
        state["cursor"] = "&cursor=" + (page["next"] or page["resume"])
        keep(state)
        if not page["next"]:
            changed.wait(5)
            changed.clear()
    except (OSError, ValueError) as error:  # the gateway is away, or the cursor is older than what is listed
        state = {"cursor": "", "applications": {}} if getattr(error, "code", 0) == 410 else state
        changed.wait(0.2)
