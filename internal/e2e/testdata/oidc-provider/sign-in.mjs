// An OpenID provider on oidc-provider, which signs everybody in to the application acme, unless they were disabled:
// node sign-in.mjs PORT APPLICATION, with acme's secret in ACME_SECRET. POST /people/NAME/disable disables somebody, POST
// /people/NAME/logout tells acme that they signed out, and GET /refreshed says how often tokens were refreshed.
import Provider from 'oidc-provider'

const [port, application] = process.argv.slice(2)
const issuer = `http://127.0.0.1:${port}`
const disabled = new Set()
let refreshed = 0

const provider = new Provider(issuer, {
	clients: [{
		client_id: 'acme', client_secret: process.env.ACME_SECRET, grant_types: ['authorization_code', 'refresh_token'],
		redirect_uris: [`${application}/oauth2/callback`], backchannel_logout_uri: `${application}/oauth2/backchannel_logout`,
	}],
	claims: { email: ['email', 'email_verified'], profile: ['name'] },
	findAccount: (_, name) => disabled.has(name) ? undefined : {
		accountId: name, claims: () => ({ sub: name, email: `${name}@example.com`, email_verified: true, name }),
	},
	issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
	// Nobody is asked for their consent.
	loadExistingGrant: async ({ oidc }) => {
		const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
		grant.addOIDCScope('openid profile email')
		await grant.save()
		return grant
	},
	interactions: { url: (_, interaction) => `/sign-in/${interaction.uid}` },
	features: {
		devInteractions: { enabled: false },
		backchannelLogout: { enabled: true },
		revocation: { enabled: true },
		rpInitiatedLogout: {
			logoutSource: (ctx, form) => {
				ctx.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`
			},
			postLogoutSuccessSource: ctx => { ctx.body = '<!doctype html><title>Sign out</title>You have signed out.' },
		},
	},
	fetch: (url, { dispatcher, ...options }) => fetch(url, options), // the default asks no loopback address
})
provider.on('grant.success', ctx => { refreshed += ctx.oidc.params.grant_type === 'refresh_token' })

provider.use(async (ctx, next) => {
	const [, first, name, what] = ctx.path.split('/')
	if (first === 'sign-in' && ctx.method === 'POST') {
		const body = new URLSearchParams(Buffer.concat(await ctx.req.toArray()).toString())
		return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: body.get('name') } })
	}
	if (first === 'sign-in') {
		ctx.body = '<!doctype html><title>Sign in</title><form method="post">Who are you? <input name="name"><button>Sign in</button></form>'
	} else if (first === 'refreshed') {
		ctx.body = String(refreshed)
	} else if (what === 'disable') {
		disabled.add(name)
		ctx.status = 204
	} else if (what === 'logout') {
		await (await provider.Client.find('acme')).backchannelLogout(name)
		ctx.status = 204
	} else {
		await next()
	}
})
provider.listen(port, '127.0.0.1', () => console.log('listening'))
