import { refuse, type Refusal } from '../../platform/refusal/index.ts';

/** The refusal of a message that a client composed; `fault` is a sentence, with or without its full stop. */
export const unreadable = (fault: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The message cannot be sent: ${fault.replace(/\.$/, '')}.` });
