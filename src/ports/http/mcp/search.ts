import type { OperationValidators } from '../../../contract/index.ts';

/** Those in which most of the words occur, best first: a word in the id or summary says more than one in the text. */
export function bestMatches(all: readonly OperationValidators[], query: string, limit: number): OperationValidators[] {
  const words = wordsOf(query);
  return all
    .map((operation) => ({ operation, score: scoreOf(operation, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ operation }) => operation);
}

function scoreOf({ operationId, operation }: OperationValidators, words: readonly string[]): number {
  const name = wordsOf(`${spaced(operationId)} ${operation.summary}`);
  const text = wordsOf(`${operation.tags.join(' ')} ${operation.description}`);
  return words.reduce((sum, word) => sum + (name.includes(word) ? 5 : text.includes(word) ? 1 : 0), 0);
}

const spaced = (camel: string): string => camel.replaceAll(/[A-Z]/g, ' $&');

/** In lower case and without the plural, so that "contacts" finds a contact. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\d]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word));
