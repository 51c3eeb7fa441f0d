package filetype

import "strings"

// contractType is a type that the contract accepts. It may have several names for it: nothing in the bytes tells them
// apart. The first is the one that Detect gives.
type contractType struct {
	extension string
	resume    bool // the question with id resume takes it as well
	names     []string
}

// types are all types of the contract, section "Answer validation per question format".
var types = []contractType{
	{".pdf", true, []string{"application/pdf"}},
	{".doc", true, []string{"application/msword"}},
	{".docx", true, []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}},
	{".odt", true, []string{"application/vnd.oasis.opendocument.text"}},
	{".rtf", true, []string{"text/rtf", "application/rtf", "application/x-rtf", "text/richtext"}},
	{".ps", true, []string{postScript}},
	{".txt", true, []string{"text/plain"}},
	{".png", false, []string{"image/png"}},
	{".gif", false, []string{"image/gif"}},
	{".jpg", false, []string{"image/jpeg"}},
	{".tiff", false, []string{"image/tiff"}},
	{".psd", false, []string{"image/vnd.adobe.photoshop"}},
	{".mp3", false, []string{"audio/mpeg", "audio/mpeg3", "audio/x-mpeg-3", "audio/mp3"}},
	{".m4a", false, []string{"audio/mp4"}},
	{".wav", false, []string{"audio/x-wav"}},
	{".mpeg", false, []string{"video/mpeg"}},
	{".mp4", false, []string{"application/mp4", "video/mp4"}},
	{".wmv", false, []string{"video/x-ms-asf", "video/x-ms-wmv"}},
	{".ppt", false, []string{"application/vnd.ms-powerpoint"}},
	{".pptx", false, []string{"application/vnd.openxmlformats-officedocument.presentationml.presentation"}},
	{".xls", false, []string{"application/vnd.ms-excel"}},
	{".xlsx", false, []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}},
	{".vcf", false, []string{"text/x-vcard"}},
	{".zip", false, []string{plainZip}},
	{".tar", false, []string{"application/x-tar", "application/x-gtar", "application/tar"}},
	{".gz", false, []string{"application/gzip"}},
}

var byName = func() map[string]contractType {
	all := map[string]contractType{}
	for _, t := range types {
		for _, name := range t.names {
			all[name] = t
		}
	}
	return all
}()

// aliases maps names of the detector to those of the contract (decisions on the Apply API). The detector's other names
// either are the contract's or are of types that it does not have.
var aliases = map[string]string{
	"text/csv":                  "text/plain",
	"text/tab-separated-values": "text/plain",
	"text/vcard":                "text/x-vcard",
	"audio/wav":                 "audio/x-wav",
	"audio/x-m4a":               "audio/mp4",
	"video/x-m4v":               "application/mp4",
	"image/apng":                "image/png", // which each program shows that knows PNG
	"video/mp4":                 "application/mp4",
}

// withoutParameters cuts what stands behind a media type, such as ; charset=utf-8.
func withoutParameters(mediaType string) string {
	name, _, _ := strings.Cut(mediaType, ";")
	return strings.TrimSpace(name)
}
