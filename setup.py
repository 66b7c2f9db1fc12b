"""Builds the C kernels; everything else stands in pyproject.toml."""

from setuptools import setup

setup(cffi_modules=["pgaspy/_build_kernels.py:ffibuilder"])
