"""A collector and a backend behind it, for a test.

Starts Rotel, which takes OTLP over HTTP and passes it on to the backend here. Prints the endpoint of the collector. When
stdin ends, the collector ends, and all that it passed on is printed as lines in the form of the example `telemetry`.
"""

import gzip, json, pathlib, socket, subprocess, sys, tempfile, threading, time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import rotel
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"]
STATUS = ["unset", "ok", "error"]
lines = []


def attributes(pairs):
    value = lambda any: getattr(any, any.WhichOneof("value"))
    return {pair.key: value(pair.value) for pair in pairs}


def process(resource):
    return attributes(resource.attributes)["service.name"].removeprefix("bookshop-")


def timestamp(nanos):
    return datetime.fromtimestamp(nanos // 10**9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{nanos % 10**9 // 1000:06}Z"


def spans(body):
    for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
        for span in (span for scope in of_process.scope_spans for span in scope.spans):
            yield {
                "process": process(of_process.resource),
                "trace_id": span.trace_id.hex(),
                "span_id": span.span_id.hex(),
                "parent_span_id": span.parent_span_id.hex() or None,
                "name": span.name,
                "kind": KINDS[span.kind],
                "start": timestamp(span.start_time_unix_nano),
                "end": timestamp(span.end_time_unix_nano),
                "status": STATUS[span.status.code],
                "attributes": attributes(span.attributes),
            }


def metrics(body):
    for of_process in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for metric in (metric for scope in of_process.scope_metrics for metric in scope.metrics):
            for point in getattr(metric, metric.WhichOneof("data")).data_points:
                yield {
                    "process": process(of_process.resource),
                    "metric": metric.name,
                    "attributes": attributes(point.attributes),
                }


class Backend(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["content-encoding"] == "gzip":
            body = gzip.decompress(body)
        lines.extend({"/v1/traces": spans, "/v1/metrics": metrics}[self.path](body))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


backend = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
threading.Thread(target=backend.serve_forever, daemon=True).start()
program = pathlib.Path(rotel.__file__).with_name("rotel-agent")
with tempfile.TemporaryDirectory() as dir:
    port = free_port()
    collector = subprocess.Popen(
        [
            program, "start",
            "--otlp-http-endpoint", f"127.0.0.1:{port}",
            "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}",
            "--exporter", "otlp",
            "--otlp-exporter-protocol", "http",
            "--otlp-exporter-endpoint", f"http://127.0.0.1:{backend.server_port}",
            "--pid-file", f"{dir}/pid",
            "--log-file", f"{dir}/log",
        ],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
    )  # fmt: skip
    try:
        while not accepts(port):
            if collector.poll() is not None:
                sys.exit("the collector ended")
            time.sleep(0.05)
        print(f"http://127.0.0.1:{port}", flush=True)
        sys.stdin.read()
    finally:
        # It sends what is left before it ends.
        collector.terminate()
        collector.wait()
for line in lines:
    print(json.dumps(line))
