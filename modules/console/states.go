package console

import (
	"fmt"
	"html/template"
	"strings"
)

// look is how a state is shown: its tone (ok, bad, warn, idle or off) is its colour, its mark is its shape.
type look struct{ tone, mark string }

// looks has the look of each fixed word of the management API, by kind and word, as in the keys of their texts.
var looks = map[string]look{
	"outcome_pending": {"idle", "wait"}, "outcome_retrying": {"idle", "again"}, "outcome_held": {"idle", "held"},
	"outcome_delivered": {"ok", "ok"}, "outcome_failed": {"bad", "bad"}, "outcome_expired": {"bad", "bad"},

	"state_configured": {"ok", "ok"}, "state_not_configured": {"warn", "todo"}, "state_disabled": {"warn", "off"},
	"state_failing": {"bad", "bad"}, "state_refusing": {"bad", "bad"}, "state_unproven": {"idle", "todo"},
	"state_removed": {"off", "off"},

	"class_delivered": {"ok", "ok"}, "class_partner_fault": {"bad", "bad"}, "class_data_fault": {"warn", "warn"},
	"class_our_fault": {"bad", "bad"}, "class_expired": {"bad", "bad"}, "class_retrying": {"idle", "again"},
	"class_held": {"idle", "held"},

	"document_fetching": {"idle", "wait"}, "document_scanning": {"idle", "wait"}, "document_fetched": {"ok", "ok"},
	"document_given_up": {"warn", "lost"},

	"redelivery_running": {"idle", "again"}, "redelivery_paused": {"warn", "held"}, "redelivery_finished": {"ok", "ok"},
	"redelivery_cancelled": {"off", "off"},

	"breaker_open": {"idle", "held"}, "breaker_closed": {"ok", "ok"},

	"need_integration_unknown": {"bad", "bad"}, "need_integration_failing": {"bad", "bad"},
	"need_integration_refusing": {"bad", "bad"}, "need_integration_not_configured": {"warn", "todo"},
	"need_integration_disabled": {"warn", "off"}, "need_exports_undelivered": {"warn", "wait"},
	"need_exports_overdue": {"warn", "wait"}, "need_certificate_ending": {"warn", "todo"},
	"need_exports_quarantined": {"warn", "box"}, "need_exports_undispatched": {"bad", "wait"},
	"need_exports_refused":     {"bad", "bad"},
	"need_exports_unaddressed": {"bad", "bad"},
	"need_exports_faulty":      {"bad", "bad"}, "need_helper_unserved": {"warn", "todo"},
	"need_applications_unentered": {"warn", "todo"}, "need_applications_erasing": {"warn", "todo"}, "need_exports_unreadable": {"bad", "lost"}, "need_documents_unreadable": {"bad", "lost"}, "need_documents_late": {"warn", "wait"},
	"need_workflows_failing": {"bad", "bad"}, "need_namespace_foreign": {"bad", "bad"},
	"need_upstream_away": {"bad", "bad"}, "need_submissions_undelivered": {"warn", "warn"},
	"need_loop_hanging": {"bad", "bad"}, "need_subscription_disabled": {"warn", "off"},
	"need_logouts_untold": {"warn", "warn"}, "need_secret_ending": {"warn", "todo"}, "need_api_key_expiring": {"warn", "todo"},

	"ending_open": {"idle", "here"}, "ending_unentered": {"warn", "warn"},
	"ending_hired": {"ok", "ok"}, "ending_rejected": {"off", "bad"}, "ending_withdrawn": {"off", "off"},

	"submission_waiting": {"idle", "wait"}, "submission_delivered": {"ok", "ok"}, "submission_refused": {"bad", "bad"},
	"submission_failed": {"bad", "lost"}, "submission_suspected": {"warn", "warn"}, "submission_resolved": {"ok", "here"},

	"scan_pending": {"idle", "wait"}, "scan_clean": {"ok", "ok"}, "scan_refused": {"warn", "box"},
}

// Mark returns a mark, such as ok, bad, warn, held, off, again, wait, todo, here, box, lost or in. It may have a tone
// of its own.
func (view) Mark(name string, tone ...string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="%s" aria-hidden="true"><use href="#m-%s"/></svg>`,
		strings.Join(append([]string{"mark"}, tone...), " "), template.HTMLEscapeString(name)))
}

// Tone returns the tone of a state.
func (view) Tone(kind string, word any) string { return lookOf(kind, word).tone }

// StateMark returns the mark of a state in its tone.
func (p view) StateMark(kind string, word any) template.HTML {
	l := lookOf(kind, word)
	return p.Mark(l.mark, l.tone)
}

// Icon returns an icon, such as menu or find.
func (view) Icon(name string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="icon" aria-hidden="true"><use href="#i-%s"/></svg>`,
		template.HTMLEscapeString(name)))
}

// As returns a state in the words of the page: its classes are a tone, and pill where it has the tint of the tone.
func (p view) As(classes, mark string, words any) template.HTML {
	return template.HTML(fmt.Sprintf(`<span class="state %s">%s<span>%s</span></span>`,
		template.HTMLEscapeString(classes), p.Mark(mark), template.HTMLEscaper(words)))
}

// State returns a fixed word of the management API as people read it, with its mark. The first of more is set before
// the word, such as the name of an integration, the others after it.
func (p view) State(kind string, word any, more ...any) template.HTML {
	l, text := lookOf(kind, word), p.Word(kind, word)
	for n, one := range more {
		if n == 0 {
			text = fmt.Sprintf("%v: %s", one, text)
		} else {
			text += fmt.Sprintf(", %v", one)
		}
	}
	return p.As(l.tone, l.mark, text)
}

// Pill returns a state on the tint of its tone.
func (p view) Pill(kind string, word any) template.HTML {
	l := lookOf(kind, word)
	return p.As(l.tone+" pill", l.mark, p.Word(kind, word))
}

// HeadMark returns the mark of a state in its tone, for a heading that has the words.
func (p view) HeadMark(kind string, word any) template.HTML {
	l := lookOf(kind, word)
	return template.HTML(fmt.Sprintf(`<span class="state %s">%s</span> `, l.tone, p.Mark(l.mark)))
}

func lookOf(kind string, word any) look {
	if l, ok := looks[fmt.Sprintf("%s_%v", kind, word)]; ok {
		return l
	}
	return look{"idle", "here"} // of a word that this page does not know
}
