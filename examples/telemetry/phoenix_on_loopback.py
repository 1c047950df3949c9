"""Phoenix for this machine alone: by itself it takes OTLP over gRPC at every address."""

import sys

from grpc.aio import _server
from phoenix.server.main import main

add_port = _server.Server.add_insecure_port
_server.Server.add_insecure_port = lambda server, address: add_port(server, address.replace("[::]", "127.0.0.1"))
sys.argv = ["phoenix", "serve"]
main()
