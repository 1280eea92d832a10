"""python -m samite: the version and the devices; with --cmake-dir the folder for find_package(samite)."""

import argparse

import samite


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m samite", description="What this package is and sees.")
    parser.add_argument("--cmake-dir", action="store_true", help="print the folder for CMake's find_package(samite)")
    if parser.parse_args().cmake_dir:
        print(samite.cmake_dir())
    else:
        print(f"samite {samite.__version__} on {', '.join(samite.devices())}")


main()
