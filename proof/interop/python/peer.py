"""What the peers share: a task as JSON on standard input, one line of JSON as the answer, and a key that signs."""

import base64
import json
import os
import socket
import sys
import threading

from algosdk import encoding, mnemonic


def task():
    return json.loads(sys.stdin.readline())


def answer(value):
    print(json.dumps(value), flush=True)


class Signer:
    """A client's signer as x402-avm's own README writes it."""

    def __init__(self, words):
        self._key = mnemonic.to_private_key(words)
        self.address = encoding.encode_address(base64.b64decode(self._key)[32:])

    def sign_transactions(self, unsigned_txns, indexes_to_sign):
        return [
            self._signed(txn) if at in indexes_to_sign else None
            for at, txn in enumerate(unsigned_txns)
        ]

    def _signed(self, txn):
        decoded = encoding.msgpack_decode(base64.b64encode(txn).decode())
        return base64.b64decode(encoding.msgpack_encode(decoded.sign(self._key)))


def paying_client(given, make=None):
    """x402-avm's client. It pays on the network that it is registered for, by default its own name of testnet."""
    from x402 import x402Client
    from x402.mechanisms.avm import ALGORAND_TESTNET_CAIP2
    from x402.mechanisms.avm.exact import ExactAvmScheme

    client = (make or x402Client)()
    network = given.get("network") or ALGORAND_TESTNET_CAIP2
    return client.register(network, ExactAvmScheme(Signer(given["mnemonic"]), given["algodUrl"]))


def listening_socket():
    """A server's socket. The server ends with the test that holds its standard input, however that test ends."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    # Whoever connects before the server takes over has to wait, and is not refused.
    bound.listen()
    return bound, f"http://127.0.0.1:{bound.getsockname()[1]}"
