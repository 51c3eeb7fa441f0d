#!/bin/sh
# Makes the files in testdata/files: a small real one of each type that the contract accepts and that can be told by its bytes, and
# some of types that it does not accept. They are in the repository; run this only to add some.
# Debian: apt-get install python3 ffmpeg ghostscript imagemagick libreoffice-writer libreoffice-calc libreoffice-impress zip default-jdk-headless
set -eu
cd "$(dirname "$0")/.."
root=$PWD good=$PWD/testdata/files/accepted bad=$PWD/testdata/files/refused
mkdir -p "$good" "$bad"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Text
printf 'Ann Smith\nNurse since 2019, day and night shifts.\nSpeaks German and caf\303\251 French.\n' > resume.txt
cp resume.txt "$good/plain.txt"
printf 'year,ward,shifts\n2024,A,120\n2025,B,131\n' > "$good/table.csv"
printf 'year\tward\tshifts\n2024\tA\t120\n2025\tB\t131\n' > "$good/table.tsv"
printf 'BEGIN:VCARD\r\nVERSION:3.0\r\nN:Smith;Ann;;;\r\nFN:Ann Smith\r\nEND:VCARD\r\n' > "$good/card.vcf"
printf '\377\376A\0n\0n\0' > "$good/utf16.txt"

# Documents
printf '%%!PS-Adobe-3.0\n/Helvetica findfont 12 scalefont setfont 72 720 moveto (Ann Smith) show showpage\n%%%%EOF\n' > "$good/page.ps"
printf '%%!\n72 720 moveto 144 720 lineto stroke showpage\n' > "$good/bare.ps"
gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile="$good/page.pdf" "$good/page.ps"
office() { soffice -env:UserInstallation="file://$work/profile" --headless --convert-to "$1" --outdir "$work" "$2" >/dev/null 2>&1; }
for to in doc docx odt rtf ott; do office "$to" resume.txt; done
cp "$good/table.csv" table.csv
for to in xls xlsx ods; do office "$to" table.csv; done
cat > slide.fodp <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.presentation">
<office:body><office:presentation><draw:page draw:name="Ann"/></office:presentation></office:body></office:document>
END
office odp slide.fodp
for to in ppt pptx; do office "$to" slide.fodp; done
cp resume.doc resume.docx resume.odt resume.rtf table.xls table.xlsx slide.pptx "$good/"
gzip -9nc slide.ppt > "$good/slide.ppt.gz" # it has a large picture of its first page in it; tests unpack it
cp resume.ott table.ods slide.odp "$bad/"

# Pictures
for to in png gif jpg tiff psd; do convert -size 8x8 xc:teal -strip "$good/picture.$to"; done
for to in webp bmp ico; do convert -size 8x8 xc:teal -strip "$bad/picture.$to"; done
printf '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>\n' > "$bad/picture.svg"

# Sound and film
sound='-f lavfi -i sine=frequency=440:duration=0.1:sample_rate=8000'
film='-f lavfi -i color=teal:size=16x16:rate=25:duration=0.08'
make() { out=$1; shift; ffmpeg -nostdin -loglevel error -y "$@" -fflags +bitexact -flags +bitexact -map_metadata -1 "$out"; }
make "$good/sound.mp3" $sound -b:a 8k
make "$good/untagged.mp3" $sound -b:a 8k -id3v2_version 0 -write_xing 0
make "$good/sound.wav" $sound
make "$good/sound.m4a" $sound -c:a aac -f ipod
make "$good/film.mp4" $film -c:v mpeg4
make "$good/film.mpeg" $film -c:v mpeg1video -f mpeg
make "$good/film.wmv" $film -c:v wmv2 -f asf
make "$bad/sound.flac" $sound
make "$bad/sound.ogg" $sound -c:a flac
make "$bad/film.avi" $film -c:v mpeg4
make "$bad/film.mov" $film -c:v mpeg4
make "$bad/film.mkv" $film -c:v mpeg4

# Archives
zip -q -X "$good/archive.zip" resume.txt
tar --format=ustar --owner=0 --group=0 --mtime=@0 -b 1 -cf "$good/archive.tar" resume.txt
gzip -nc resume.txt > "$good/archive.gz"
bzip2 -c resume.txt > "$bad/archive.bz2"
xz -c resume.txt > "$bad/archive.xz"
mkdir -p META-INF
printf 'Manifest-Version: 1.0\nMain-Class: A\n' > META-INF/MANIFEST.MF
jar --create --file "$bad/program.jar" --manifest META-INF/MANIFEST.MF resume.txt
rm -f "$bad/late-manifest.jar" && zip -q -X "$bad/late-manifest.jar" resume.txt META-INF/MANIFEST.MF

# What names itself something else, and programs
: > "$bad/empty.pdf"
printf '<!DOCTYPE html>\n<html><body><script>alert(1)</script></body></html>\n' > "$bad/page.pdf"
printf '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>\n' > "$bad/page.xhtml"
printf '<?xml version="1.0"?>\n<resume/>\n' > "$bad/data.xml"
printf '{"resume":true}\n' > "$bad/data.json"
printf '#!/bin/sh\nrm -rf /\n' > "$bad/script.txt"
printf '#!/usr/bin/env python3\nprint(1)\n' > "$bad/script.doc"
printf '<?php echo 1;\n' > "$bad/script.rtf"
printf 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n' > "$bad/calendar.ics"
printf '\0\1\2\3\4\5\6\7' > "$bad/bytes.txt"
# The heads of a Windows and of a Linux program that do nothing.
printf 'MZ\0\0PE\0\0\114\001\0\0\0\0\0\0\0\0\0\0\0\0\0\0\140\0\003\001\013\001' > "$bad/program.exe"
printf '\177ELF\002\001\001\0\0\0\0\0\0\0\0\0\002\0\076\0\001\0\0\0' > "$bad/program.pdf"

# What people have whose programs write it otherwise
python3 "$root/scripts/testfiles.py" "$good" "$bad"
ls -l "$good" "$bad"
