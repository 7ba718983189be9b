"""Local steps on a GPU. `place` puts rows there; the steps of `fedclust.kernels` then use it."""

from .device import CudaDevice, Device
from .rows import DeviceRows, forget, place, placed

__all__ = ["CudaDevice", "Device", "DeviceRows", "forget", "place", "placed"]
