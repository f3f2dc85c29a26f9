import type { AnswerOf, OperationId } from '../cli/client/index.ts';

/** What a person does next with an item as it stands, and the operation of it, whose key is said. */
interface Next {
  operation: OperationId;
  says: (key: string) => string;
}

const NEXT: Partial<Record<OperationId, (item: never) => Next | undefined>> = {
  getDomain: ({ status }: AnswerOf<'getDomain'>) =>
    status === 'verified'
      ? undefined
      : {
          operation: 'verifyDomain',
          says: (key) => `Next: publish its records where its DNS is kept; then ${key} looks them up.`,
        },
  getWebhook: ({ status }: AnswerOf<'getWebhook'>) =>
    status === 'enabled'
      ? undefined
      : {
          operation: 'updateWebhook',
          says: (key) =>
            `Disabled: it is sent nothing, and what happens is parked. Next: ${key} enables it; what is parked by then is sent by a replay (→ parked).`,
        },
};

export const nextStepOf = (operation: OperationId, item: object): Next | undefined => NEXT[operation]?.(item as never);
