package form

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
)

//go:embed form.css
var sheet string

// Look is how a tenant's forms look.
type Look struct {
	Name string // of the organisation; empty: it is left out
	Logo []byte // a PNG or JPEG picture, or empty
	// Light and Dark are the colour of buttons and links, as #rrggbb, on a light and on a dark page. Empty: ours.
	Light, Dark string
}

// style is a style sheet with the source that lets it pass a Content-Security-Policy.
type style struct {
	css    template.CSS
	source string
}

func (l *Look) style() style {
	css := sheet
	if l.Light != "" {
		css += ":root{--accent:" + l.Light + ";--press:" + l.Light + ";--on-accent:" + on(l.Light) + "}\n"
	}
	if l.Dark != "" {
		css += "@media(prefers-color-scheme:dark){:root{--accent:" + l.Dark + ";--press:" + l.Dark + ";--on-accent:" + on(l.Dark) + "}}\n"
	}
	sum := sha256.Sum256([]byte(css))
	return style{template.CSS(css), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"}
}

// name returns the name of the organisation as texts have it.
func (l *Look) name(t *texts) string {
	if l.Name == "" {
		return t.TheEmployer
	}
	return l.Name
}

// The pages' own colours, against which an accent is read: as in form.css.
const (
	lightCanvas = "#f5f6f3"
	darkCanvas  = "#111412"
	leastRatio  = 4.5 // WCAG 2.2, success criterion 1.4.3
)

var (
	errColour = errors.New("a colour is six hexadecimal digits, such as 1a6647")
	errOrigin = errors.New("an origin is scheme, host and port alone, such as https://www.acme.example")
)

// ValidateColours returns why colours can't be used: one is none, or people could not read it.
func (l *Look) ValidateColours() error {
	for _, one := range []struct{ colour, canvas, page string }{{l.Light, lightCanvas, "light"}, {l.Dark, darkCanvas, "dark"}} {
		if one.colour == "" {
			continue
		}
		ratio, err := contrast(one.colour, one.canvas)
		if err != nil {
			return err
		}
		if ratio < leastRatio {
			return fmt.Errorf("%s has a contrast of %.1f to 1 on the %s page, and people need %.1f: take a %s one", one.colour, ratio,
				one.page, leastRatio, map[string]string{"light": "darker", "dark": "lighter"}[one.page])
		}
	}
	return nil
}

// on is the colour of text on an accent.
func on(accent string) string {
	if white, err := contrast(accent, "#ffffff"); err == nil && white >= leastRatio {
		return "#fff"
	}
	return "#0a0f0c"
}

// contrast is the contrast ratio of two colours (WCAG 2.2).
func contrast(one, other string) (float64, error) {
	a, err := luminance(one)
	if err != nil {
		return 0, err
	}
	b, err := luminance(other)
	if err != nil {
		return 0, err
	}
	return (max(a, b) + 0.05) / (min(a, b) + 0.05), nil
}

// luminance is the relative luminance of a colour (WCAG 2.2).
func luminance(colour string) (float64, error) {
	if len(colour) != 7 || colour[0] != '#' {
		return 0, errColour
	}
	rgb, err := strconv.ParseUint(colour[1:], 16, 32)
	if err != nil {
		return 0, errColour
	}
	sum := 0.0
	for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
		part := float64(rgb>>(16-8*n)&0xff) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum, nil
}

// logo serves the picture of the organisation.
func (f *Form) logo(w http.ResponseWriter, r *http.Request) {
	if len(f.Look.Logo) == 0 {
		f.closed(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", http.DetectContentType(f.Look.Logo))
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(f.Look.Logo)
}
