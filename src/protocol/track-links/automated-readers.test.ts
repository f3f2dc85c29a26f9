import { describe, expect, it } from 'vitest';
import { AUTOMATED_READERS, automatedReader } from './automated-readers.ts';

const isAutomated = (agent: string): boolean => automatedReader({ 'user-agent': agent });

describe('who counts as a person', () => {
  it.each([
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; ms-office; MSOffice 16)',
    'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.5278; Pro)',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.3.0',
    'Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0',
  ])('%s', (agent) => {
    expect(isAutomated(agent)).toBe(false);
  });
});

describe('who counts as a machine', () => {
  it.each([
    '',
    '  ',
    'BarracudaCentral/1.0',
    'Proofpoint URL Defense',
    'Mimecast/1.0',
    'Mozilla/5.0 (Windows NT 10.0) SafeLinks',
    'Mozilla/5.0 (Windows NT 6.1) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Microsoft Office Existence Discovery',
    'curl/8.5.0',
    'Wget/1.21.4',
    'python-requests/2.32.3',
    'Go-http-client/2.0',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Twitterbot/1.0',
    'WhatsApp/2.23.20.0',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'TelegramBot (like TwitterBot)',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/141.0.0.0 Safari/537.36',
    'node',
  ])('%j', (agent) => {
    expect(isAutomated(agent)).toBe(true);
  });

  it.each([
    ['purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;anonymous-client-ip'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('a browser that says %s: %s', (name, value) => {
    expect(automatedReader({ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', [name]: value })).toBe(true);
    expect(automatedReader({ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', [name]: 'other' })).toBe(false);
  });

  it('each row has its reason, and none needs a certain letter case', () => {
    for (const { pattern, why } of AUTOMATED_READERS)
      expect([pattern.flags, why]).toEqual(['i', expect.stringMatching(/\w/)]);
  });
});
