// Package translation reads the texts of pages in each language, and finds the language of a reader.
package translation

import (
	"encoding/json"
	"io/fs"
	"net/http"

	"golang.org/x/text/language"
)

var (
	languages = []language.Tag{language.English, language.German} // the first is the default
	matcher   = language.NewMatcher(languages)
)

// Read reads the texts of each language from texts/<language>.json, and from all files of texts/<language>. It panics where
// they can't be read: they are part of the program.
func Read[File, Texts any](files fs.FS, of func(lang string, read File) Texts) (all []Texts) {
	for _, tag := range languages {
		var read File
		for _, pattern := range []string{".json", "/*.json"} {
			names, _ := fs.Glob(files, "texts/"+tag.String()+pattern)
			for _, name := range names {
				raw, err := fs.ReadFile(files, name)
				if err == nil {
					err = json.Unmarshal(raw, &read)
				}
				if err != nil {
					panic(err)
				}
			}
		}
		all = append(all, of(tag.String(), read))
	}
	return all
}

// For returns the texts that a reader wants: in one of the preferred languages, otherwise in one that the browser accepts.
func For[Texts any](r *http.Request, all []Texts, preferred ...string) Texts {
	var wanted []language.Tag
	for _, one := range preferred {
		if tag, err := language.Parse(one); err == nil {
			wanted = append(wanted, tag)
		}
	}
	accepted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // none: the default
	_, n, _ := matcher.Match(append(wanted, accepted...)...)
	return all[n]
}
