// An authorization server on oidc-provider, which issues tokens to gate and tells receiver which of them are good:
// node token-endpoint.mjs PORT, with their secrets in GATE_SECRET and RECEIVER_SECRET.
import Provider from 'oidc-provider'

const port = Number(process.argv[2])
const issuer = `http://127.0.0.1:${port}`
const noSignIn = { redirect_uris: [], response_types: [] }

const provider = new Provider(issuer, {
	clients: [
		{ client_id: 'gate', client_secret: process.env.GATE_SECRET, grant_types: ['client_credentials'], scope: 'exports', ...noSignIn },
		{ client_id: 'receiver', client_secret: process.env.RECEIVER_SECRET, grant_types: [], ...noSignIn },
	],
	scopes: ['exports'],
	features: {
		clientCredentials: { enabled: true },
		introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'receiver' },
		revocation: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'receiver' },
		devInteractions: { enabled: false },
	},
	ttl: { ClientCredentials: 3600 },
})
provider.listen(port, '127.0.0.1', () => console.log('listening'))
