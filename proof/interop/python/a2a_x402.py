"""What the Python package of the A2A extension makes of a quote on Algorand, and of a payment of version 2."""

import json
import sys
from importlib.metadata import version

given = json.loads(sys.stdin.readline())


def attempt(act):
    try:
        return {"value": act()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:600]}


def quote():
    from x402_a2a import x402PaymentRequiredResponse

    return json.loads(x402PaymentRequiredResponse.model_validate(given["quote"]).model_dump_json(by_alias=True))


def networks():
    from typing import get_args

    from x402_a2a import SupportedNetworks

    return list(get_args(SupportedNetworks))


def imported():
    import x402_a2a

    return x402_a2a.X402_EXTENSION_URI


print(
    json.dumps(
        {
            "x402": version("x402"),
            "imported": attempt(imported),
            "networks": attempt(networks),
            "quote": attempt(quote),
        }
    )
)
