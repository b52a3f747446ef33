# shellcheck shell=bash disable=SC2034,SC2154
# Programs that spend their time in hand-written assembly without unwind information, as bench/programs.sh has others.
# To be sourced; needs $tmp.
#   programs:      the names of those that this machine can run
#   program NAME:  its command, in the array $command: it runs until it is killed. What it needs is made first.

programs() {
    local name
    for name in x264 x265 dav1d h264 xvid dgemm gmp nettle sodium jpeg; do
        if (program $name) >/dev/null 2>&1; then echo $name; fi
    done
}

programs_prepare() {
    programs >/dev/null
}

has() { # COMMAND
    command -v "$1" >/dev/null
}

ffmpeg_quiet=(ffmpeg -nostdin -v error -y)
picture=(-f lavfi -i testsrc2=s=1280x720)

encode() { # ENCODER...: for ever
    command=("${ffmpeg_quiet[@]}" "${picture[@]}" -c:v "$@" -f null -)
}

decode() { # FILE DECODER: for ever
    command=("${ffmpeg_quiet[@]}" -stream_loop -1 -c:v "$2" -i "$1" -f null -)
}

made() { # FILE COMMAND...: unless it is there
    local file=$1
    shift
    [ -s "$file" ] || "$@" </dev/null
}

noise() { # FILE: some MB of pixels that compress like photographs
    python3 - "$1" <<'END'
import random, sys
rnd, w, h = random.Random(3), 1024, 768
with open(sys.argv[1], "wb") as f:
    f.write(b"P6 %d %d 255\n" % (w, h))
    f.write(bytes((x * y // 97 + rnd.randrange(24)) & 255 for y in range(h) for x in range(w) for _ in range(3)))
END
}

program() {
    case $1 in
    x264) encode libx264 && has ffmpeg ;;
    x265) encode libx265 -x265-params log-level=error && has ffmpeg ;;
    xvid) encode libxvid && has ffmpeg && ffmpeg -v error -h encoder=libxvid | grep Encoder >/dev/null ;;
    h264)
        made "$tmp/h264.mp4" "${ffmpeg_quiet[@]}" "${picture[@]}" -t 2 -c:v libx264 -preset faster "$tmp/h264.mp4" &&
            decode "$tmp/h264.mp4" h264
        ;;
    dav1d)
        made "$tmp/av1.mp4" "${ffmpeg_quiet[@]}" "${picture[@]}" -t 1 -c:v libsvtav1 -preset 10 "$tmp/av1.mp4" 2>/dev/null &&
            decode "$tmp/av1.mp4" libdav1d
        ;;
    dgemm)
        made "$tmp/dgemm" gcc -O2 e2e/nocfi/dgemm.c -o "$tmp/dgemm" -ldl &&
            command=("$tmp/dgemm") && ldconfig -p | grep 'libopenblas.so.0' >/dev/null
        ;;
    gmp)
        command=(/usr/bin/python3 -c 'from gmpy2 import mpz, powmod, gcd
a, b, m = mpz(3) ** 200000, mpz(7) ** 150000, mpz(2) ** 4096 - 1
while True: c = a * b; d = c // a; powmod(mpz(5), m >> 1, m); gcd(c, b)') &&
            /usr/bin/python3 -c 'import gmpy2'
        ;;
    nettle | sodium)
        made "$tmp/$1" gcc -O2 "e2e/nocfi/$1.c" -o "$tmp/$1" "-l$1" && command=("$tmp/$1")
        ;;
    jpeg)
        made "$tmp/noise.ppm" noise "$tmp/noise.ppm" && made "$tmp/jpeg" gcc -O2 e2e/nocfi/jpeg.c -o "$tmp/jpeg" -ljpeg &&
            command=("$tmp/jpeg" "$tmp/noise.ppm")
        ;;
    esac
}
