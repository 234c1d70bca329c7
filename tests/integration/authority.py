# SPDX-License-Identifier: Apache-2.0
"""Certificates of an authority of the tests' own, made by the openssl tool."""

import subprocess


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, timeout=30)


class Authority:
    """Keeps its files in a folder: ca.pem, and NAME.pem with NAME.key for each certificate."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = str(folder), name
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", "/CN=tests", "-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.pem")

    @staticmethod
    def run(*arguments, text=None):
        done = openssl(*arguments, text=text)
        assert done.returncode == 0, done.stderr

    def path(self):
        return f"{self.folder}/{self.name}.pem"

    def issue(self, name, subject, *, hosts="", days=2):
        """(certificate file, key file)"""
        stem = f"{self.folder}/{name}"
        self.run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8", "-subj", subject,
                 "-keyout", stem + ".key", "-out", stem + ".csr")
        with open(stem + ".ext", "w") as file:
            file.write(f"subjectAltName={hosts}\n" if hosts else "basicConstraints=CA:FALSE\n")
        self.run("x509", "-req", "-in", stem + ".csr", "-CA", self.path(), "-CAkey", f"{self.folder}/{self.name}.key",
                 "-days", str(days), "-extfile", stem + ".ext", "-out", stem + ".pem")
        return stem + ".pem", stem + ".key"
