#!/usr/bin/env python
from config.__main__ import main

if __name__ == "__main__":
    main()
