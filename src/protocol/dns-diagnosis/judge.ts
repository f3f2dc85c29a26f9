import { judgeCaa } from './caa-rules.ts';
import { judgeDkim } from './dkim-rules.ts';
import { isDmarc, judgeDmarc } from './dmarc-rules.ts';
import { judgeCname, judgeMx } from './host-rules.ts';
import type { Answer, Judgement, Observations, Wanted } from './observations.ts';
import { quoted, textOf } from './shown.ts';
import { isSpf } from './spf-cost.ts';
import { judgeSpf } from './spf-rules.ts';
import { shapeFault } from './text-shape.ts';

/** More than this is no record set of a person's, and its author is to read it all. */
const RECORDS_MAX = 20;
/** A key of 4096 bits takes 750 of them. */
const CHARS_MAX = 2048;

/** Holds one answer against what was asked for. */
export function judgeAnswer(wanted: Wanted, answer: Answer, seen: Partial<Observations> = {}): Judgement {
  switch (answer.kind) {
    case 'failed':
      return { verdict: 'unknown', sentence: null };
    case 'none':
      return { verdict: 'absent', sentence: null };
    case 'found':
      return judgeRecords(wanted, readable(wanted, answer.records), seen);
  }
}

/** What is of the sort asked for goes first: a name may hold any number of texts for others. */
function readable(wanted: Wanted, records: readonly string[]): string[] {
  const texts = records.map((record) => upTo(wanted, record));
  const alike = wanted.type === 'TXT' ? texts.filter((text) => isAlike(wanted, text)) : texts;
  const others = alike.length >= RECORDS_MAX ? [] : texts.filter((text) => !alike.includes(text));
  return [...alike, ...others].slice(0, RECORDS_MAX).map(textOf);
}

/** Reading an SPF record ends between two of its terms: half of one would be a mistake that it does not have. */
function upTo({ record }: Wanted, text: string): string {
  if (text.length <= CHARS_MAX) return text;
  const end = record === 'SPF' ? text.lastIndexOf(' ', CHARS_MAX) : -1;
  return text.slice(0, end > 0 ? end : CHARS_MAX);
}

function isAlike({ record, value }: Wanted, text: string): boolean {
  switch (record) {
    case 'SPF':
      return isSpf(text);
    case 'DMARC':
      return isDmarc(text);
    case 'DKIM':
      return /(^|;)\s*p\s*=/.test(text);
    default:
      return text === value;
  }
}

function judgeRecords(wanted: Wanted, records: readonly string[], seen: Partial<Observations>): Judgement {
  switch (wanted.type) {
    case 'MX':
      return judgeMx(wanted, records, seen);
    case 'CNAME':
      return judgeCname(wanted, records, seen);
    case 'CAA':
      return judgeCaa(wanted, records);
    case 'TXT':
      return judgeText(wanted, records, seen);
  }
}

function judgeText(wanted: Wanted, texts: readonly string[], seen: Partial<Observations>): Judgement {
  if (wanted.record === 'DKIM') return judgeDkim(wanted, texts, seen.siblings);
  if (wanted.record === 'SPF') return judgeSpf(wanted, texts, seen.spf);
  if (wanted.record === 'DMARC') return judgeDmarc(wanted, texts, seen.siblings);
  return judgeProof(wanted, texts);
}

/** A text that proves something stands as it is, beside whatever else the name has. */
function judgeProof(wanted: Wanted, texts: readonly string[]): Judgement {
  if (texts.includes(wanted.value)) return { verdict: 'right', sentence: null };
  for (const text of texts) {
    const fault = shapeFault(text, (repaired) => repaired === wanted.value);
    if (fault) return { verdict: 'wrong', sentence: `The TXT record at ${wanted.name} ${fault}.` };
  }
  const label = wanted.value.split('=', 1)[0] ?? '';
  const similar = label === wanted.value ? undefined : texts.find((text) => text.startsWith(`${label}=`));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return {
    verdict: 'wrong',
    sentence: `The TXT record at ${wanted.name} says ${quoted(similar)}; it must be the value shown.`,
  };
}
