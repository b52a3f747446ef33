#!/bin/bash
# Prints a python3 that has kubernetes-validate and Grafana's dashboard models.   e2e/install/python.sh
exec "$(dirname "${BASH_SOURCE[0]}")/../venv.sh" schemas-python-1.37.0 kubernetes-validate==1.37.0 \
    "grafana-foundation-sdk==1769699998!10.1.0"
