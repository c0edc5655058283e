#!/usr/bin/env python3
"""Decodes stored receipts on a Spark cluster. `receipt-bridge migrate` is a filter that runs once for each partition.

    spark-submit migrate.py SOURCE RESULT [FILTER…]

SOURCE is JSON lines (a file, a folder or a pattern; .gz too), RESULT a folder that does not exist yet. FILTER is the command for
one partition; its program must be at the same path on every machine, for example in the image of the executors.
"""
import shlex
import sys

from pyspark.sql import SparkSession

source, result = sys.argv[1:3]
# One process runs for each core, so each decodes one batch at a time.
command = sys.argv[3:] or ["receipt-bridge", "migrate", "-", "--to", "-", "--workers", "1"]

spark = SparkSession.builder.appName("receipt-bridge migrate").getOrCreate()
lines = spark.sparkContext.textFile(source)
# Without checkCode, a partition whose filter failed would count as complete.
lines.pipe(shlex.join(command), checkCode=True).saveAsTextFile(result)
spark.stop()
