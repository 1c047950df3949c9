// Makes server-everything a good guest, without touching its code:
//
//   node --import ./on_loopback.mjs .../server-everything/dist/index.js streamableHttp
//
// It would listen on every address of the machine, tell a free port (PORT=0) to nobody, and run until it is killed. With
// this in front it listens on 127.0.0.1, prints its URL as one line on stderr, and ends after LIFE seconds (120).
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}/mcp`));
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};
setTimeout(() => process.exit(0), Number(process.env.LIFE ?? 120) * 1000);
