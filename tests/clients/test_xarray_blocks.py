# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""xarray computes on ndock's arrays, and on Dask arrays of ndock's blocks, what it computes on NumPy's, on NDOCK_DEVICE."""
import os

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr

import ndock as nd
import ndock.dask

DEVICE = os.environ.get("NDOCK_DEVICE", "cpu")
VALUES = np.random.default_rng(0).random((6, 8))
ndock.dask.register()
dask.config.set(scheduler="sync")


def labelled(data):
    return xr.DataArray(data, dims=("time", "place"), coords={"time": np.arange(6), "place": np.linspace(0.0, 7.0, 8), "season": ("time", list("aabbab"))})


def array(v):
    return nd.asarray(v, device=DEVICE)


def blocks(v):
    return da.from_array(array(v), chunks=(3, 4), asarray=False)


CASES = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean("time"), "std": lambda x: x.std("place"), "max": lambda x: x.max("time"),
    "median": lambda x: x.median("time"), "quantile": lambda x: x.quantile(0.25, "time") if not isinstance(x.data, da.Array) else x.chunk(time=-1).quantile(0.25, "time"),
    "arithmetic": lambda x: (x - x.mean("time")) / x.std("time"), "ufunc": lambda x: np.sqrt(x) + np.exp(-x), "compare": lambda x: (x > 0.5).sum("place"),
    "where": lambda x: x.where(x > 0.5, 0.0), "holes": lambda x: x.where(x > 0.5, np.nan).mean("time", skipna=True), "clip": lambda x: x.clip(0.2, 0.6),
    "select": lambda x: x.isel(time=slice(1, 5), place=[0, 3]), "by label": lambda x: x.sel(place=3.0), "transpose": lambda x: x.transpose("place", "time"),
    "concat": lambda x: xr.concat([x, x], "time"), "stack": lambda x: x.stack(both=("time", "place")), "groupby": lambda x: x.groupby("season").mean(),
    "groupby sum": lambda x: x.groupby("season").sum("time"), "coarsen": lambda x: x.coarsen(place=2).mean(), "shift": lambda x: x.diff("time"),
    "cumsum": lambda x: x.cumsum("time"), "dot": lambda x: xr.dot(x, x, dim="place"), "roll": lambda x: x.roll(place=2, roll_coords=False),
    "astype": lambda x: x.astype("float32"), "apply": lambda x: xr.apply_ufunc(lambda v: v * 2 + 1, x, dask="parallelized", output_dtypes=[float]),
    "dataset": lambda x: xr.Dataset({"a": x, "b": x * 2}).mean("time")["b"],
    "pad": lambda x: x.pad(place=1, mode="constant", constant_values=0.0), "argmax": lambda x: x.argmax("place"),
    "interp": lambda x: x.interp(place=[0.5, 2.25]),
}
# Where xarray leaves duck arrays: SciPy's and NumPy's interpolation of the host's elements.
ON_THE_HOST = {"interp"}  # weighted(), and where() without a second value, take none: they ask for NumPy's dtypes


@pytest.mark.parametrize("make", [array, blocks])
@pytest.mark.parametrize("name", CASES)
def test_compute(name, make):
    if name in ON_THE_HOST and (DEVICE != "cpu" or make is blocks):
        pytest.skip("xarray interpolates elements of the host")
    if name == "quantile" and DEVICE != "cpu" and make is blocks:
        pytest.skip("Dask subtracts NumPy's arrays")
    want, got = CASES[name](labelled(VALUES)), CASES[name](labelled(make(VALUES))).compute()
    assert name in ON_THE_HOST or isinstance(got.data, (nd.Array, np.generic)), type(got.data)
    data = np.asarray(got.data.to_device("cpu")) if isinstance(got.data, nd.Array) else np.asarray(got.data)
    assert got.dims == want.dims and data.shape == want.shape and data.dtype == want.dtype
    assert np.allclose(data, want.values, equal_nan=True)
    assert all(got.coords[k].equals(want.coords[k]) for k in want.coords)


def test_text():
    assert "ndock" in repr(xr.DataArray(array(VALUES))) or "array" in repr(xr.DataArray(array(VALUES)))
