# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` leaves is whole: pkg-config finds it where it stands, and its client starts its burnd."""
import os
import pathlib
import shutil
import subprocess

import burn
import pytest

BUILD = pathlib.Path(burn.__file__).resolve().parents[2]
PROGRAM = """
#include <stdio.h>
#include <burn/burn.h>
#include <burn/burn_ops.h>
int main(void)
{
    const int64_t shape[2] = {2, 2};
    const float a[4] = {1, -2, 3, 4}, b[4] = {1, 2, 3, -4};
    float gradient[4];
    double total;
    burn_context *context;
    burn_tensor *x, *y, *product, *positive, *sum;
    if (burn_open(NULL, &context) || burn_upload(context, BURN_DTYPE_FLOAT32, 2, shape, a, &x) ||
        burn_upload(context, BURN_DTYPE_FLOAT32, 2, shape, b, &y) || burn_set_requires_grad(x, 1) ||
        burn_matmul(context, burn_in(x), burn_in(y), &product) || burn_relu(context, burn_in(product), &positive) ||
        burn_sum(context, burn_in(positive), 0, NULL, 0, 0, &sum) || burn_backward(context, &sum, NULL, 1, NULL, 0, 0) ||
        burn_item(sum, &total) || burn_read(burn_grad(x), gradient, sizeof gradient))
        return fprintf(stderr, "%s\\n", burn_last_error()->text), 1;
    printf("%g: %g %g %g %g\\n", total, gradient[0], gradient[1], gradient[2], gradient[3]);
    burn_close(context);
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.skipif(not (BUILD / "cmake_install.cmake").exists() or not shutil.which("pkg-config"),
                    reason="burn does not lie in a build folder")
def test_an_installed_tree_needs_nothing_else(tmp_path):
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "first")
    prefix = (tmp_path / "first").rename(tmp_path / "moved")
    library = next(prefix.rglob("libburn-client.so")).parent
    environment = {key: value for key, value in os.environ.items() if key not in ("BURND", "BURN_URL")}
    environment |= {"PKG_CONFIG_PATH": str(library / "pkgconfig"), "BURN_URL": "private:", "PATH": "/usr/bin:/bin"}
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = run("pkg-config", "--cflags", "--libs", "burn-client", env=environment).split()
    run("gcc", tmp_path / "main.c", "-o", tmp_path / "main", *flags, f"-Wl,-rpath,{library}", env=environment)
    assert run(tmp_path / "main", env=environment) == "25: 2 -4 1 3\n"
    assert run(prefix / "bin/burnctl", "--version") == f"burnctl {burn.__version__}\n"
    assert run(prefix / "bin/burnd", "--version").startswith(f"burnd {burn.__version__}")
