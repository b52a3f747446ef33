#!/bin/bash
# Prints a python3 that has opentelemetry-proto, profiles as of its 1.10.   e2e/pyroscope/python.sh
exec "$(dirname "${BASH_SOURCE[0]}")/../venv.sh" otlp-python-1.45.2 opentelemetry-proto==1.45.2
