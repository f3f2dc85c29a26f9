import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SCOPE_NAMES, type Scope } from '../../src/contract/index.ts';
import type { AnyBody } from './api.ts';
import { createOauth } from './oauth.ts';
import { createPeople, type Person } from './people.ts';
import type { Scene, Team } from './scene.ts';

/** The client interface of the tests, whichever library implements it. */
export interface McpClient extends AsyncDisposable {
  revision: string | undefined;
  tools(): Promise<SeenTool[]>;
  call(name: string, given?: Record<string, unknown>): Promise<SeenResult>;
  prompts(): Promise<string[]>;
  prompt(name: string, given?: Record<string, string>): Promise<string>;
  resources(): Promise<string[]>;
  resourceTemplates(): Promise<string[]>;
  /** Returns the single text of a resource. */
  resource(uri: string): Promise<string>;
}

export interface SeenTool {
  name: string;
  description?: string | undefined;
  inputSchema: object;
  annotations?: { readOnlyHint?: boolean | undefined; destructiveHint?: boolean | undefined } | undefined;
}

export interface SeenResult {
  isError: boolean;
  text: string;
  /** Returns the first text as JSON, without the lines that mark data of others. */
  value: () => AnyBody;
}

/** Unmodified client libraries: that of 2026-07-28 and that of 2025. */
export const CLIENTS = {
  async '2026-07-28'(url: string, token: string): Promise<McpClient> {
    const client = new Client(ABOUT, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), buildRequest(token)));
    return asSeen(client, client.getNegotiatedProtocolVersion());
  },
  async '2025-11-25'(url: string, token: string): Promise<McpClient> {
    const client = new EarlierClient(ABOUT);
    const transport = new EarlierTransport(new URL(url), buildRequest(token));
    // The library's own types do not support exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return asSeen(client, transport.protocolVersion);
  },
};

export const ABOUT = { name: 'rasket-tests', version: '1' };
const buildRequest = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

export function asSeen(client: Client | EarlierClient, revision: string | undefined): McpClient {
  return {
    revision,
    tools: async () => (await client.listTools()).tools,
    async call(name, given = {}) {
      const result = (await client.callTool({ name, arguments: given })) as {
        isError?: boolean;
        content: { text: string }[];
      };
      const text = result.content.map((one) => one.text).join('\n');
      const first = result.content[0]?.text ?? '';
      const json = first.replace(/^[\s\S]*?<data \w+>\n/, '').replace(/\n<\/data \w+>$/, '');
      return { isError: result.isError === true, text, value: () => JSON.parse(json) as AnyBody };
    },
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    async prompt(name, given = {}) {
      const { messages } = await client.getPrompt({ name, arguments: given });
      return messages.map(({ content }) => (content.type === 'text' ? content.text : '')).join('\n');
    },
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    resourceTemplates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    async resource(uri) {
      const { contents } = await client.readResource({ uri });
      const [content] = contents;
      if (contents.length !== 1 || !content || !('text' in content))
        throw new Error('the resource is not a single text');
      return content.text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Creates access tokens for /mcp, as a person of the team grants them. */
export async function createAssistants(scene: Scene, team: Team, person?: Person) {
  const oauth = createOauth(scene);
  const app = await oauth.register();
  const owner = person ?? (await createPeople(scene).person({ team, role: 'owner' }));
  const origin = scene.app.world.origin();
  return {
    app,
    oauth,
    url: `${origin}/mcp`,
    async token(scopes: readonly Scope[] = SCOPE_NAMES, resource = `${origin}/mcp`): Promise<string> {
      return (await oauth.letIn(owner, app, { scope: scopes.join(' '), resource })).access_token;
    },
  };
}
