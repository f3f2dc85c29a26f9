import { createHash } from 'node:crypto';
import type { OpenApiDocument } from '../../contract/index.ts';

/** The URL of the page's script, which is an operation of the contract. */
const SCRIPT_PATH = '/docs/scalar.js';

/**
 * Starts the reference. The page exchanges no data with other hosts: it loads no fonts and uses no proxy, telemetry or
 * assistant. Calls go to the server that the page came from. A call that is tried out would send every parameter that
 * has an example, such as `after` together with `before`, so optional parameters lose their examples.
 */
const START = `fetch('/openapi.json').then((answer) => answer.json()).then((document) => {
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      for (const parameter of operation.parameters ?? []) if (!parameter.required) delete parameter.example;
    }
  }
  for (const parameter of Object.values(document.components.parameters ?? {})) if (!parameter.required) delete parameter.example;
  Scalar.createApiReference('#app', {
    content: document,
    servers: [{ url: location.origin, description: 'This server' }],
    withDefaultFonts: false,
    telemetry: false,
    proxyUrl: '',
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    authentication: { preferredSecurityScheme: 'bearer' },
  });
});`;

/** Renders the API reference, with search, calls to try out, and examples for curl, the official client and Python. */
export function renderDocsPage({ info }: OpenApiDocument): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>${info.title} API ${info.version}</title></head>
<body><noscript>This page requires JavaScript. The API description is also at <a href="/openapi.yaml">/openapi.yaml</a>.</noscript>
<div id="app"></div><script src="${SCRIPT_PATH}"></script><script>${START}</script></body></html>
`;
}

const startHash = createHash('sha256').update(START).digest('base64');

/** The Content-Security-Policy. `default-src` covers neither the base URL, nor form targets, nor who may frame the page. */
export const docsPolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${startHash}'`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

let script: Promise<Buffer> | undefined;

/** Returns the script of the page. It has five megabytes that most servers never serve, so it is read at the first request. */
export function loadDocsScript(): Promise<Buffer> {
  return (script ??= readScript());
}

/** Reads the script through the fastify plugin of the Scalar package, because the package offers no other way. */
async function readScript(): Promise<Buffer> {
  const [{ fastify }, { default: scalar }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ]);
  const inner = fastify();
  await inner.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const { rawPayload } = await inner.inject('/docs/js/scalar.js');
  await inner.close();
  return rawPayload;
}
