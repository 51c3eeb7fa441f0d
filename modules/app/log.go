package app

import (
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// latestLog logs through whatever latest gives at that moment. What outlives a configuration needs it: the outputs and
// levels of a former configuration's log end with that.
func latestLog(latest func() *zap.Logger) *zap.Logger { return zap.New(latestCore{latest: latest}) }

type latestCore struct {
	latest func() *zap.Logger
	fields []zapcore.Field
}

func (c latestCore) core() zapcore.Core { return c.latest().Core() }

func (c latestCore) Enabled(l zapcore.Level) bool { return c.core().Enabled(l) }

func (c latestCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

func (c latestCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return checked
	}
	return checked.AddCore(e, c)
}

// Write asks the core once more whether it takes the entry: a configured log may leave out some by their logger's name.
func (c latestCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if checked := c.core().Check(e, nil); checked != nil {
		checked.Write(slices.Concat(c.fields, fields)...)
	}
	return nil
}

func (c latestCore) Sync() error { return c.core().Sync() }
