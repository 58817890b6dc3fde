# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every estimator of scikit-learn that says it takes arrays of the array API, and every metric that has checks of its own for
them, with ndock's arrays: scikit-learn's own checks, in which ndock is not one of the libraries."""
import warnings

import pytest
from sklearn.metrics.tests.test_common import yield_metric_checker_combinations
from sklearn.utils import get_tags
from sklearn.utils._test_common.instance_generator import _construct_instances
from sklearn.utils.discovery import all_estimators
from sklearn.utils.estimator_checks import check_array_api_input_and_values

DTYPES = ("float64", "float32")


def takes_arrays(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_tags(estimator).array_api_support


def estimators():
    for name, kind in all_estimators():
        if name == "LabelEncoder":  # takes labels alone, which the check does not give
            continue
        try:
            instances = list(_construct_instances(kind))
        except Exception:  # it cannot be made without being told more, and scikit-learn's own tests leave it out too
            continue
        for i, estimator in enumerate(e for e in instances if takes_arrays(e)):
            for dtype in DTYPES:
                yield pytest.param(name, estimator, dtype, id=f"{name}-{i}-{dtype}")


@pytest.mark.parametrize("name, estimator, dtype", estimators())
def test_estimator(name, estimator, dtype):
    check_array_api_input_and_values(name, estimator, "ndock", dtype_name=dtype)


@pytest.mark.parametrize("metric, check", yield_metric_checker_combinations())
@pytest.mark.parametrize("dtype", DTYPES)
def test_metric(metric, check, dtype):
    check(metric, array_namespace="ndock", device=None, dtype_name=dtype)
