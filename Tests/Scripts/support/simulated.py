"""Writes the state directory of a simulator: receipts, certificates, a configuration."""
import subprocess


def write(tool, state, customers, seed=4):
    """Everything in the directory is complete before the simulator listens."""
    process = subprocess.Popen(
        [tool, "simulate", "--seed", str(seed), "--customers", str(customers), "--state", state, "--listen", "127.0.0.1:0",
         "--clock", "2026-11-21T12:00:00Z"], stderr=subprocess.PIPE, text=True)
    process.stderr.readline()
    process.terminate()
    process.wait()
