// Requests as the providers document them (the types of openai 6.49.0 and @anthropic-ai/sdk 1.14.0 for Node), as far as
// we may send them; other fields are refused.

/** JSON Schema as both accept it in structured outputs: every property is required, no others are allowed, and there are no limits. */
const structured = {
  $defs: {
    value: {
      oneOf: [
        {
          type: 'object',
          additionalProperties: false,
          required: ['type', 'properties', 'required', 'additionalProperties'],
          properties: {
            type: { const: 'object' },
            properties: { type: 'object', minProperties: 1, additionalProperties: { $ref: '#/$defs/value' } },
            required: { type: 'array', minItems: 1, items: { type: 'string' } },
            additionalProperties: { const: false },
          },
        },
        {
          type: 'object',
          additionalProperties: false,
          required: ['type', 'items'],
          properties: { type: { const: 'array' }, items: { $ref: '#/$defs/value' } },
        },
        { type: 'object', additionalProperties: false, required: ['type'], properties: { type: { const: 'string' } } },
      ],
    },
  },
};
const text = { type: 'string', minLength: 1 };
const name = { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' };

/** OpenAI: POST /v1/chat/completions. */
export const openaiRequest = {
  ...structured,
  type: 'object',
  additionalProperties: false,
  required: ['model', 'messages'],
  properties: {
    model: text,
    messages: {
      type: 'array',
      minItems: 2,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['role', 'content'],
        properties: { role: { enum: ['system', 'user'] }, content: text },
      },
    },
    stream: { const: false },
    response_format: {
      type: 'object',
      additionalProperties: false,
      required: ['type', 'json_schema'],
      properties: {
        type: { const: 'json_schema' },
        json_schema: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'strict', 'schema'],
          properties: { name, strict: { const: true }, schema: { $ref: '#/$defs/value' } },
        },
      },
    },
  },
};

/** Anthropic: POST /v1/messages. */
export const anthropicRequest = {
  ...structured,
  type: 'object',
  additionalProperties: false,
  required: ['model', 'max_tokens', 'messages', 'tools', 'tool_choice'],
  properties: {
    model: text,
    max_tokens: { type: 'integer', minimum: 1 },
    system: text,
    messages: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['role', 'content'],
        properties: { role: { const: 'user' }, content: text },
      },
    },
    tools: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'input_schema'],
        properties: { name, description: text, input_schema: { $ref: '#/$defs/value' } },
      },
    },
    tool_choice: {
      type: 'object',
      additionalProperties: false,
      required: ['type', 'name'],
      properties: { type: { const: 'tool' }, name, disable_parallel_tool_use: { const: true } },
    },
  },
};
