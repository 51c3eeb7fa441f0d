#!/usr/bin/env python3
"""Writes the files of testdata/files that no program on Debian writes as other people's do: one a rule of internal/filetype."""
import io
import struct
import sys
import zipfile
import zlib

good, bad = sys.argv[1:]


def write(folder, name, content):
    with open(f"{folder}/{name}", "wb") as f:
        f.write(content)


def archive(*files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files:
            entry = zipfile.ZipInfo("x", (2026, 1, 2, 3, 4, 6))
            entry.filename = name  # as it is: ZipInfo turns backslashes
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            z.writestr(entry, content)
    return out.getvalue()


# Text
letter = "From: Ann Smith\r\nTo: Ms Weber\r\n\r\nDear Ms Weber,\r\nI apply as a nurse.\r\n".encode()
write(good, "letter.txt", letter)
write(good, "soft-break.txt", b"Ann Smith\x0bNurse\r\nnight\x1eshifts\r\n")
write(good, "ctrl-z.txt", b"Ann Smith, nurse\r\n\x1a")
write(good, "initials.txt", b"MZ Care Ltd\r\n1 Long Street, Portland\r\n\r\nAnn Smith has been a nurse here since 2019.\r\n")
write(good, "comment.tex", b"%!TEX program = xelatex\n\\documentclass{article}\n")
write(good, "marked.vcf", b"\xef\xbb\xbfBEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann Smith\r\nEND:VCARD\r\n")
write(bad, "mail.txt", b"From: Ann Smith <ann@example.com>\r\nTo: jobs@example.com\r\nMIME-Version: 1.0\r\n"
      b"Content-Type: text/html\r\n\r\n<p>I apply.</p>\r\n")
write(bad, "page16.txt", b"\xff\xfe" + "<!DOCTYPE html>\n<script>alert(1)</script>\n".encode("utf-16-le"))
write(bad, "bytes16.txt", b"\xff\xfe\x01\x00\x02\x00\x03\x00\x00\x00")

# Documents
write(good, "nul.rtf", b"{\\rtf1\\ansi Ann Smith, nurse\\par\r\n}\r\n\x00")
write(good, "bytes.rtf", b"{\\rtf1{\\pict\\wmetafile8\\bin4 \x00\x01\x02\x03}Ann Smith\\par}\r\n")
script = b"%!PS-Adobe-3.0\n72 720 moveto 144 720 lineto stroke showpage\n%%EOF\n"
write(good, "ctrl-d.ps", b"\x04" + script + b"\x04")
write(good, "printer.ps", b"\x1b%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=POSTSCRIPT\r\n" + script + b"\x1b%-12345X@PJL EOJ\r\n")
write(good, "preview.eps", struct.pack("<4sIIIIIIH", b"\xc5\xd0\xd3\xc6", 30, len(script), 0, 0, 30 + len(script), 0, 0xFFFF) + script)
page = open(f"{good}/page.pdf", "rb").read()
write(good, "printer.pdf", b"\x1b%-12345X@PJL ENTER LANGUAGE=PDF\r\n" + page)
write(bad, "script.pdf", b"#!/bin/sh\n# %PDF-1.4\nrm -rf /\n")
write(bad, "behind.pdf", b"<html><script>alert(1)</script><!--\n%PDF-1.4\n-->\n")

# OpenDocument and Office
odt = "application/vnd.oasis.opendocument.text"
ns = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
content = ("content.xml", f'<office:document-content {ns} office:version="1.3"><office:body><office:text><text:p>Ann Smith'
           "</text:p></office:text></office:body></office:document-content>")
manifest = ("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{odt}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>')
write(good, "mimetype-last.odt", archive(content, manifest, ("mimetype", odt)))
write(good, "no-mimetype.odt", archive(content, manifest))
write(good, "folder-first.odt", archive(("META-INF/", ""), manifest, ("mimetype", odt), content))
write(bad, "protected.odt", archive(("mimetype", odt), ("encrypted-package", "x"), manifest))
write(good, "mimetype-alone.zip", archive(("mimetype", odt)))

office = "application/vnd.openxmlformats-officedocument"


def types(main, part="/word/document.xml"):
    return ("[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="{part}" ContentType="{main}"/></Types>')


def relations(part):
    return ("_rels/.rels", '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
            f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="{part}"/></Relationships>')


text = ('<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Ann Smith</w:t></w:r>'
        "</w:p></w:body></w:document>")
document, template = (f"{office}.wordprocessingml.{kind}.main+xml" for kind in ("document", "template"))
write(good, "backslashes.docx", archive(relations("word/document.xml"), ("word\\document.xml", text), types(document)))
write(good, "other-part.docx", archive(types(document, "/word/document2.xml"), relations("word/document2.xml"), ("word/document2.xml", text)))
write(bad, "resume.dotx", archive(types(template), relations("word/document.xml"), ("word/document.xml", text)))


def compound(stream):
    """A compound file with one stream, which is empty."""
    none, end = 0xFFFFFFFF, 0xFFFFFFFE

    def entry(name, kind, child):
        raw = (name + "\0").encode("utf-16-le")
        return struct.pack("<64sHBBIII16sIQQIQ", raw, len(raw) if name else 0, kind, 1, none, none, child, b"", 0, 0, 0, end, 0)

    header = struct.pack("<8s16sHHHHH6sIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"",
                         0, 1, 1, 0, 4096, end, 0, end, 0, 0) + struct.pack("<108I", *[none] * 108)
    table = struct.pack("<128I", 0xFFFFFFFD, end, *[none] * 126)
    return header + table + entry("Root Entry", 5, 1) + entry(stream, 2, none) + entry("", 0, none) * 2


write(bad, "protected.docx", compound("EncryptedPackage"))
write(good, "upper-case.xls", compound("WORKBOOK"))

# Pictures, sound and film
def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


write(good, "animated.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
      + chunk(b"acTL", struct.pack(">II", 1, 0)) + chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 1, 1, 0, 0, 1, 10, 0, 0))
      + chunk(b"IDAT", zlib.compress(b"\0\x7f")) + chunk(b"IEND", b""))
film = open(f"{good}/film.mp4", "rb").read()
rest = film[struct.unpack(">I", film[:4])[0]:]


def branded(*brands):
    return struct.pack(">I4s4sI", 12 + 4 * len(brands), b"ftyp", brands[0], 0x200) + b"".join(brands[1:])


write(good, "itunes.mp4", branded(b"M4V ", b"M4V ", b"M4A ", b"mp42", b"isom") + rest)
write(good, "phone.mp4", branded(b"3gp5", b"3gp5", b"mp42", b"isom") + rest)
write(good, "free-first.mp4", struct.pack(">I4s", 8, b"free") + branded(b"isom", b"isom", b"mp41") + rest)
