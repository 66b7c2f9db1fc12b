"""The kernels: the only folder that knows C."""
