"""What NVFlare's connections load: few drivers, and no settings from unrelated folders.

NVFlare would load all of its drivers. Where it has no folder of settings, it would also look for
them in the current folder and everything below, which can be the whole of somebody's data.
"""

from nvflare.fuel.f3 import communicator
from nvflare.fuel.f3.comm_config import CommConfigurator


def load_few() -> None:
    """Let this process register gRPC between machines, and TCP between the processes of one."""
    communicator.load_comm_drivers = _register


def without_settings() -> None:
    """Let this process use the defaults of connections, and look for no file."""
    CommConfigurator._config_loaded = True


def _register() -> None:
    from nvflare.fuel.f3.drivers.grpc_driver import GrpcDriver
    from nvflare.fuel.f3.drivers.tcp_driver import TcpDriver

    for driver in (GrpcDriver, TcpDriver):
        communicator.driver_mgr.register(driver)
    communicator.driver_loaded = True
