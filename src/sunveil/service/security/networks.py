"""Network addresses, and what limits count them as."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from sunveil.errors import ParameterError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# One customer of a network provider has all addresses of such a network, so limits are for it.
HOUSEHOLD_BITS = 64


def parse_network(text: str) -> Network:
    """Return the network that an address, or a network such as ``10.0.0.0/8``, names."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ParameterError(
            f"{text!r} is neither an address nor a network; write 10.0.0.5, 10.0.0.0/8 or ::1"
        ) from None


def parse_address(text: str) -> Address | None:
    """Return an address as a header may write it, with a port or in brackets; None if it is none.

    An IPv4 address within IPv6 is that IPv4 address, whichever socket it came to.
    """
    plain = text.strip().strip('"')
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        found = ip_address(plain)
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        return found.ipv4_mapped or found
    return found


def mapped(network: Network) -> Network:
    """Return a network as a socket of IPv6 sees it."""
    if isinstance(network, IPv6Network):
        return network
    return ip_network(f"::ffff:{network.network_address}/{96 + network.prefixlen}")


def is_within(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether an address is in any of some networks."""
    return any(address in network for network in networks)


def limit_key(address: str) -> str:
    """Return what limits count an address as: itself, or the network of a household's."""
    found = parse_address(address)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, HOUSEHOLD_BITS), strict=False))
    return address
