/** What a model is asked, whatever its server is. */
export interface Question {
  /** The name of what is to be answered, for servers that want one. */
  name: string;
  system: string;
  user: string;
  /** Of the answer, without limits: not every server knows those. */
  schema: object;
}

export interface ModelRequest {
  path: string;
  headers: Record<string, string>;
  body: object;
}

/** What came of a question: JSON, not checked yet, or why there is none. */
export type Reply = { kind: 'said'; json: unknown } | { kind: 'cut_off' } | { kind: 'refused' };

/** One way to speak to the server of a model. */
export interface Wire {
  request(question: Question, options: { model: string; key: string; withSchema: boolean }): ModelRequest;
  /** What the model answered. Undefined JSON where the answer holds none. */
  read(body: unknown): Reply;
  /** It can be asked without a schema, which servers refuse that know none. */
  isSchemaOptional: boolean;
}

/** Models like to put JSON between fences, and some think aloud before it. */
export function jsonIn(text: string): unknown {
  const said = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '').trim();
  const bare = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/i.exec(said)?.[1] ?? said;
  try {
    return JSON.parse(bare) as unknown;
  } catch {
    return undefined;
  }
}

/** Of something that a stranger sent: a field of it, or undefined. */
export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
