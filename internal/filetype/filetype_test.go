package filetype_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filetype"
)

const (
	docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	odt  = "application/vnd.oasis.opendocument.text"
)

// The contract's two lists, as they stand there.
const (
	forFile = `application/pdf, application/msword, application/vnd.openxmlformats-officedocument.wordprocessingml.document, application/postscript, image/png, image/gif, image/jpeg, application/rtf, text/plain, audio/mpeg3, audio/x-mpeg-3, audio/mpeg, audio/mp3, video/mpeg, audio/mp4, video/mp4, application/mp4, application/vnd.ms-powerpoint, application/vnd.openxmlformats-officedocument.presentationml.presentation, image/vnd.adobe.photoshop, image/tiff, text/x-vcard, audio/x-wav, video/x-ms-wmv, video/x-ms-asf, application/vnd.ms-excel, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, application/zip, application/x-gtar, application/x-tar, application/tar, application/gzip, text/richtext, text/rtf, application/x-rtf, application/vnd.oasis.opendocument.text`

	forResume = `application/pdf, application/msword, application/vnd.openxmlformats-officedocument.wordprocessingml.document, application/vnd.oasis.opendocument.text, application/rtf, application/x-rtf, text/rtf, text/richtext, application/postscript, text/plain`
)

func TestTypesAreTheContracts(t *testing.T) {
	t.Parallel()
	file, resume := strings.Split(forFile, ", "), strings.Split(forResume, ", ")
	require.Len(t, resume, 10)
	require.ElementsMatch(t, file, filetype.All())
	require.ElementsMatch(t, resume, filetype.ForResume())
}

// accepted are the files of testdata/files/accepted: the type of each, and whether it may be a resume.
var accepted = map[string]struct {
	name, extension string
	resume          bool
}{
	"animated.png":       {"image/png", ".png", false},
	"archive.gz":         {"application/gzip", ".gz", false},
	"archive.tar":        {"application/x-tar", ".tar", false},
	"archive.zip":        {"application/zip", ".zip", false},
	"backslashes.docx":   {docx, ".docx", true},
	"bare.ps":            {"application/postscript", ".ps", true},
	"bytes.rtf":          {"text/rtf", ".rtf", true},
	"card.vcf":           {"text/x-vcard", ".vcf", false},
	"comment.tex":        {"text/plain", ".txt", true},
	"ctrl-d.ps":          {"application/postscript", ".ps", true},
	"ctrl-z.txt":         {"text/plain", ".txt", true},
	"film.mp4":           {"application/mp4", ".mp4", false},
	"film.mpeg":          {"video/mpeg", ".mpeg", false},
	"film.wmv":           {"video/x-ms-asf", ".wmv", false},
	"folder-first.odt":   {odt, ".odt", true},
	"free-first.mp4":     {"application/mp4", ".mp4", false},
	"initials.txt":       {"text/plain", ".txt", true},
	"itunes.mp4":         {"application/mp4", ".mp4", false},
	"letter.txt":         {"text/plain", ".txt", true},
	"marked.vcf":         {"text/x-vcard", ".vcf", false},
	"mimetype-alone.zip": {"application/zip", ".zip", false},
	"mimetype-last.odt":  {odt, ".odt", true},
	"no-mimetype.odt":    {odt, ".odt", true},
	"nul.rtf":            {"text/rtf", ".rtf", true},
	"other-part.docx":    {docx, ".docx", true},
	"page.pdf":           {"application/pdf", ".pdf", true},
	"page.ps":            {"application/postscript", ".ps", true},
	"phone.mp4":          {"application/mp4", ".mp4", false},
	"picture.gif":        {"image/gif", ".gif", false},
	"picture.jpg":        {"image/jpeg", ".jpg", false},
	"picture.png":        {"image/png", ".png", false},
	"picture.psd":        {"image/vnd.adobe.photoshop", ".psd", false},
	"picture.tiff":       {"image/tiff", ".tiff", false},
	"plain.txt":          {"text/plain", ".txt", true},
	"preview.eps":        {"application/postscript", ".ps", true},
	"printer.pdf":        {"application/pdf", ".pdf", true},
	"printer.ps":         {"application/postscript", ".ps", true},
	"resume.doc":         {"application/msword", ".doc", true},
	"resume.docx":        {docx, ".docx", true},
	"resume.odt":         {odt, ".odt", true},
	"resume.rtf":         {"text/rtf", ".rtf", true},
	"slide.ppt.gz":       {"application/vnd.ms-powerpoint", ".ppt", false},
	"slide.pptx":         {pptx, ".pptx", false},
	"soft-break.txt":     {"text/plain", ".txt", true},
	"sound.m4a":          {"audio/mp4", ".m4a", false},
	"sound.mp3":          {"audio/mpeg", ".mp3", false},
	"sound.wav":          {"audio/x-wav", ".wav", false},
	"table.csv":          {"text/plain", ".txt", true},
	"table.tsv":          {"text/plain", ".txt", true},
	"table.xls":          {"application/vnd.ms-excel", ".xls", false},
	"table.xlsx":         {xlsx, ".xlsx", false},
	"untagged.mp3":       {"audio/mpeg", ".mp3", false},
	"upper-case.xls":     {"application/vnd.ms-excel", ".xls", false},
	"utf16.txt":          {"text/plain", ".txt", true},
}

// refused are those of testdata/files/refused: what they are found to be.
var refused = map[string]string{
	"archive.bz2":       "application/x-bzip2",
	"archive.xz":        "application/x-xz",
	"behind.pdf":        "text/html",
	"bytes.txt":         "application/octet-stream",
	"bytes16.txt":       "application/octet-stream",
	"calendar.ics":      "text/calendar",
	"data.json":         "application/json",
	"data.xml":          "text/xml",
	"empty.pdf":         "application/x-empty",
	"film.avi":          "video/x-msvideo",
	"film.mkv":          "video/matroska",
	"film.mov":          "video/quicktime",
	"late-manifest.jar": "application/java-archive",
	"mail.txt":          "message/rfc822",
	"page.pdf":          "text/html",
	"page16.txt":        "text/html",
	"page.xhtml":        "application/xhtml+xml",
	"picture.bmp":       "image/bmp",
	"picture.ico":       "image/x-icon",
	"picture.svg":       "image/svg+xml",
	"picture.webp":      "image/webp",
	"program.exe":       "application/vnd.microsoft.portable-executable",
	"program.jar":       "application/java-archive",
	"program.pdf":       "application/x-executable",
	"protected.docx":    "application/x-protected-office",
	"protected.odt":     "application/x-protected-office",
	"resume.dotx":       "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
	"resume.ott":        "application/vnd.oasis.opendocument.text-template",
	"script.doc":        "text/x-python",
	"script.pdf":        "text/x-shellscript",
	"script.rtf":        "text/x-php",
	"script.txt":        "text/x-shellscript",
	"slide.odp":         "application/vnd.oasis.opendocument.presentation",
	"sound.flac":        "audio/flac",
	"sound.ogg":         "audio/ogg",
	"table.ods":         "application/vnd.oasis.opendocument.spreadsheet",
}

func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/files/" + folder + "/*")
	require.NoError(t, err)
	all := map[string][]byte{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Less(t, len(content), 24<<10, "%s is small", path)
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".ppt.gz") {
			packed, err := gzip.NewReader(bytes.NewReader(content))
			require.NoError(t, err)
			content, err = io.ReadAll(packed)
			require.NoError(t, err)
		}
		all[name] = content
	}
	return all
}

func detect(t *testing.T, content []byte) filetype.Type {
	t.Helper()
	found, err := filetype.Detect(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	return found
}

func TestAcceptedFiles(t *testing.T) {
	t.Parallel()
	all := files(t, "accepted")
	require.Len(t, all, len(accepted))
	extensions := map[string]bool{}
	for name, content := range all {
		want, ok := accepted[name]
		require.True(t, ok, name)
		found := detect(t, content)
		require.Equal(t, filetype.Type{Name: want.name, Extension: want.extension}, found, name)
		require.True(t, slices.Contains(filetype.All(), found.Name), name)
		require.Equal(t, want.resume, slices.Contains(filetype.ForResume(), found.Name), name)
		extensions[found.Extension] = true
	}
	require.Len(t, extensions, 26, "one file of each type that can be told by its bytes")
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	all := files(t, "refused")
	require.Len(t, all, len(refused))
	for name, content := range all {
		found := detect(t, content)
		require.Equal(t, filetype.Type{Name: refused[name]}, found, name)
		require.False(t, slices.Contains(filetype.All(), found.Name), name)
	}
}

// The order of the files in an archive is of no account, nor how many there are before the one that tells.
func TestArchivesAreLookedInto(t *testing.T) {
	t.Parallel()
	many := make([]string, 500)
	for n := range many {
		many[n] = "customXml/" + strings.Repeat("x", n+1)
	}
	for last, want := range map[string]string{
		"word/document.xml": docx, "xl/workbook.xml": xlsx, "ppt/presentation.xml": pptx,
		"META-INF/MANIFEST.MF": "application/java-archive", "AndroidManifest.xml": "application/vnd.android.package-archive",
		"resume.txt": "application/zip", strings.Repeat("y", 1<<11): "application/zip",
	} {
		archive := zipped(t, append(slices.Clone(many), last))
		require.Equal(t, want, detect(t, archive).Name, "%.30s", last)
	}
	both := slices.Concat(many, []string{"word/document.xml", "META-INF/MANIFEST.MF", "xl/workbook.xml"})
	require.Equal(t, "application/java-archive", detect(t, zipped(t, both)).Name)
	whole := zipped(t, append(slices.Clone(many), "word/document.xml"))
	for _, size := range []int{30, 4096, len(whole) / 2, len(whole) - 30, len(whole) - 1} {
		require.Equal(t, "application/zip", detect(t, whole[:size]).Name, "cut off at %d", size)
	}
	require.Equal(t, "application/zip", detect(t, zipped(t, nil)).Name)
	lost := slices.Clone(whole)
	copy(lost[len(lost)-6:], "\xff\xff\xff\xff")
	require.Equal(t, "application/zip", detect(t, lost).Name, "the directory is not where it should be")
}

func zipped(t *testing.T, names []string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		file, err := w.Create(name)
		require.NoError(t, err)
		_, err = file.Write([]byte("x"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Office documents with macros have types of their own, which the contract does not name, whatever their files are
// called.
func TestMacrosAreNoDocuments(t *testing.T) {
	t.Parallel()
	detect := func(files ...[2]string) string {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range files {
			file, err := w.Create(f[0])
			require.NoError(t, err)
			_, err = file.Write([]byte(f[1]))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		found, err := filetype.Detect(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		return found.Name
	}
	types := func(main string) [2]string {
		return [2]string{"[Content_Types].xml",
			`<?xml version="1.0"?><Types><Default Extension="bin" ContentType="application/x"/><Override ContentType="` + main +
				`" PartName="/main"/></Types>`}
	}
	const macro = "application/vnd.ms-word.document.macroEnabled.main+xml"
	for main, want := range map[string][2]string{
		"word/document.xml":    {docx, "application/vnd.ms-word.document.macroEnabled.12"},
		"xl/workbook.xml":      {xlsx, "application/vnd.ms-excel.sheet.macroEnabled.12"},
		"ppt/presentation.xml": {pptx, "application/vnd.ms-powerpoint.presentation.macroEnabled.12"},
	} {
		body := [2]string{main, "<x/>"}
		require.Equal(t, want[0], detect(types("application/vnd.openxmlformats-officedocument.main+xml"), body))
		folder, _, _ := strings.Cut(main, "/")
		for _, files := range [][][2]string{
			{types(macro), body},
			{body, types(strings.ToUpper(macro))},
			{types("application/vnd.ms-word.document.macro&#69;nabled.main+xml"), body},
			{types("application/x"), types(macro), body},
			{types("application/x"), body, {folder + "/vbaProject.bin", "x"}},
			{types("application/x"), body, {folder + "/VBAPROJECT.BIN", "x"}},
			{{"[Content_Types].xml", "<Types \xff>"}, body},
		} {
			found := detect(files...)
			require.Equal(t, want[1], found, "%v", files)
			require.False(t, slices.Contains(filetype.All(), found))
		}
	}
	require.Equal(t, "application/zip", detect([2]string{"vbaProject.bin", "x"}), "no Office document")
}

// The names of a type that can't be told from another's, and what the detector calls by other names.
func TestAliases(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"a,b\n1,2\n":                                "text/plain",
		"a\tb\n1\t2\n":                              "text/plain",
		"BEGIN:VCARD\nEND:VCARD\n":                  "text/x-vcard",
		"RIFF\x04\x00\x00\x00WAVEfmt ":              "audio/x-wav",
		"\x00\x00\x00\x18ftypM4A \x00":              "audio/mp4",
		"\x00\x00\x00\x18ftypmp42\x00":              "application/mp4",
		"%!":                                        "application/postscript",
		"%!PS-Adobe-3.0 EPSF-3.0\n":                 "application/postscript",
		"Grüße aus Köln":                            "text/plain",
		"{\\rtf1 a}":                                "text/rtf",
		"\xef\xbb\xbfAnn":                           "text/plain",
		"%PDF-1.4\n":                                "application/pdf",
		"\x00\x00\x00\x18ftypheic\x00":              "image/heic",
		"\x00\x00\x00\x18ftyp3gp4\x00":              "video/3gpp",
		"<!-- a -->":                                "text/html",
		"  <HTML>":                                  "text/html",
		`<svg xmlns="http://www.w3.org/2000/svg"/>`: "image/svg+xml",
		"MZ":                                    "application/vnd.microsoft.portable-executable",
		"MZ" + strings.Repeat(" ", 61) + "\x00": "application/vnd.microsoft.portable-executable",
		"\x00\x00\x00\x10ftypM4V \x00\x00\x00\x00":                     "application/mp4",
		"\x00\x00\x00\x08free\x00\x00\x00\x10ftypqt  \x00\x00\x00\x00": "video/quicktime",
		"\x00\x00\x00\x08wide\x00\x00\x00\x08mdat":                     "video/quicktime",
		"To whom it may concern\x00\x00\x1a":                           "text/plain",
		"To whom\x00it may concern":                                    "application/octet-stream",
		"\xfe\xff\x00A\x00n\x00n":                                      "text/plain",
		"\xff\xfe\x00\x00A\x00\x00\x00n\x00\x00\x00":                   "text/plain",
		"PK Care Ltd\r\n\x1a":                                          "text/plain",
		"Date: today\nContent-Type: application/pdf\n\n%PDF-1.4":       "application/pdf",
		"\x1b%-12345X\x1b%-12345X@PJL SET COPIES=1\n%!PS":              "application/postscript",
		"\x1a":                               "application/octet-stream",
		"\x04\x04\r\n%!PS":                   "application/postscript",
		"\xc5\xd0\xd3\xc6\x09\x00\x00\x00 %": "application/octet-stream",
		"From: Ann\nSubject: my application\n\nI apply":  "text/plain",
		"Received: from a by b\nFrom: ann@example.com\n": "message/rfc822",
		"\x00":                             "application/octet-stream",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "application/x-ole-storage",
	} {
		require.Equal(t, want, detect(t, []byte(content)).Name, "%q", content)
	}
}

type broken struct{ after int64 }

var errDisk = errors.New("disk")

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at >= b.after {
		return 0, errDisk
	}
	copy(p, "PK\x03\x04"+strings.Repeat("x", len(p)))
	return len(p), nil
}

func TestErrorsOfReading(t *testing.T) {
	t.Parallel()
	_, err := filetype.Detect(broken{0}, 10)
	require.ErrorIs(t, err, errDisk)
	_, err = filetype.Detect(broken{1}, 1<<20)
	require.ErrorIs(t, err, errDisk, "while looking into an archive")
	_, err = filetype.Detect(bytes.NewReader([]byte("short")), 10)
	require.ErrorIs(t, err, io.EOF, "the file is not as long as was said")
	_, err = os.Stat("../../scripts/testfiles.sh")
	require.False(t, errors.Is(err, fs.ErrNotExist), "what made the files is there")
}

func FuzzDetect(f *testing.F) {
	for _, folder := range []string{"accepted", "refused"} {
		paths, _ := filepath.Glob("../../testdata/files/" + folder + "/*")
		for _, path := range paths {
			content, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		found := detect(t, content)
		require.NotEmpty(t, found.Name)
		require.Equal(t, slices.Contains(filetype.All(), found.Name), found.Extension != "")
	})
}
