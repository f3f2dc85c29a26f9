import { fieldOf, type Wire } from './wire.ts';

/** The longest answer that all of its models give; a draft of a hundred thousand characters is shorter. */
const TOKENS_MAX = 8192;

/** The messages API of Anthropic. Its answer is the input of a tool that it has to call. */
export const messagesApi: Wire = {
  request: ({ name, system, user, schema }, { model, key }) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01', ...(key === '' ? {} : { 'x-api-key': key }) },
    body: {
      model,
      max_tokens: TOKENS_MAX,
      system,
      messages: [{ role: 'user', content: user }],
      tools: [{ name, description: 'Takes the answer.', input_schema: schema }],
      tool_choice: { type: 'tool', name, disable_parallel_tool_use: true },
    },
  }),
  read(body) {
    const reason = fieldOf(body, 'stop_reason');
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return { kind: 'cut_off' };
    if (reason === 'refusal') return { kind: 'refused' };
    const content = fieldOf(body, 'content');
    const parts: unknown[] = Array.isArray(content) ? content : [];
    const use = parts.find((part) => fieldOf(part, 'type') === 'tool_use');
    return { kind: 'said', json: fieldOf(use, 'input') };
  },
  isSchemaOptional: false,
};
