/**
 * Who wrote when, before a quote: in the languages in which Gmail, Apple Mail, Thunderbird and Outlook write it. Each needs a
 * number, as of a date, or an address, so that no sentence of a letter is one.
 */
const SOMETHING = String.raw`(?=.*(?:\d|@)).{1,250}`;
const before = (words: string, end: string): RegExp =>
  new RegExp(String.raw`^(?:${words})(?:\s|,)${SOMETHING}(?:${end})\s?[:：]$`, 'iu');
const behind = (end: string): RegExp => new RegExp(String.raw`^${SOMETHING}(?:${end})\s?[:：]$`, 'iu');

export const ATTRIBUTIONS: readonly RegExp[] = [
  before('on', 'wrote|writes|said'),
  before('am|um', 'schrieb.{0,120}'),
  before(
    'le|el|il|em|op|dnia|w dniu|den|på|pe|dne|în data|la',
    'a écrit|écrit|escribió|escribio|ha scritto|scrisse|escreveu|schreef.{0,120}|pisze|napisał(?:\\(a\\)|a)?|skrev.{0,120}|napsal(?:\\(a\\)|a)?|a scris|kirjoitti',
  ),
  new RegExp(
    String.raw`^${SOMETHING}\s(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|napisał(?:\(a\)|a)?|skrev)\s?[:：]$`,
    'iu',
  ),
  behind(
    String.raw`\s(?:kirjoitti|yazdı|şunu yazdı|пишет|написал(?:\(а\)|а)?|пише|έγραψε|írta|ezt írta|כתב|كتب|đã viết|menulis)`,
  ),
  // Gmail in Japanese has the date and the mailbox alone.
  /^\d{4}[年/.-].{1,250}<[^<>\s]{1,250}>\s?[:：]$/u,
  behind(String.raw`(?:写道|寫道|のメール|は書きました|書きました|님이 작성|작성)`),
];

/** The line above a mail that is quoted as a whole, or passed on. */
export const SEPARATORS = new RegExp(
  String.raw`^\s*[-_=>]{2,}\s?(?:${[
    ...['original message', 'original appointment', 'forwarded message', 'reply message', 'ursprüngliche nachricht'],
    ...['originalnachricht', 'weitergeleitete nachricht', 'message d.origine', 'message original', 'message transféré'],
    ...['mensaje original', 'mensaje reenviado', 'messaggio originale', 'messaggio inoltrato', 'mensagem original'],
    ...[
      'mensagem encaminhada',
      'oorspronkelijk bericht',
      'doorgestuurd bericht',
      'wiadomość oryginalna',
      'oryginalna wiadomość',
    ],
    ...[
      'ursprungligt meddelande',
      'originalmeddelande',
      'oprindelig meddelelse',
      'opprinnelig melding',
      'alkuperäinen viesti',
    ],
    ...['původní zpráva', 'eredeti üzenet', 'mesaj original', 'özgün ileti', 'orijinal mesaj', 'исходное сообщение'],
    ...['пересылаемое сообщение', '原始邮件', '原始郵件', '元のメッセージ', 'original-nachricht', '원본 메시지'],
  ].join('|')})\s?(?:[-_=]{2,})?\s*$`,
  'iu',
);

/** Names of the head that Outlook writes above what it quotes, in lower case. */
export const HEADER_NAMES = {
  from: new Set([
    'from',
    'von',
    'de',
    'da',
    'van',
    'od',
    'från',
    'fra',
    'lähettäjä',
    'feladó',
    'kimden',
    'gönderen',
    'от',
    'від',
    'από',
    'מאת',
    'من',
    '发件人',
    '寄件者',
    '差出人',
    '보낸 사람',
  ]),
  others: new Set([
    ...[
      'sent',
      'date',
      'to',
      'subject',
      'gesendet',
      'datum',
      'an',
      'betreff',
      'envoyé',
      'à',
      'objet',
      'enviado',
      'enviado el',
    ],
    ...[
      'enviada em',
      'fecha',
      'data',
      'para',
      'asunto',
      'assunto',
      'inviato',
      'oggetto',
      'a',
      'verzonden',
      'aan',
      'onderwerp',
    ],
    ...[
      'wysłano',
      'wysłane',
      'do',
      'temat',
      'skickat',
      'till',
      'ämne',
      'sendt',
      'til',
      'emne',
      'lähetetty',
      'vastaanottaja',
      'aihe',
    ],
    ...[
      'odesláno',
      'komu',
      'předmět',
      'elküldve',
      'címzett',
      'tárgy',
      'gönderildi',
      'tarih',
      'kime',
      'konu',
      'отправлено',
      'дата',
    ],
    ...[
      'кому',
      'тема',
      'στάλθηκε',
      'προς',
      'θέμα',
      'נשלח',
      'אל',
      'נושא',
      'إلى',
      'الموضوع',
      '发送时间',
      '收件人',
      '主题',
    ],
    ...['寄件日期', '收件者', '主旨', '送信日時', '宛先', '件名', '보낸 날짜', '받는 사람', '제목'],
  ]),
};

/** What telephones and programs write below a mail. */
export const FOOTERS = new RegExp(
  `^(?:${[
    String.raw`sent (?:from|via|with) (?:my |the )?.{1,60}`,
    String.raw`get outlook for .{1,40}`,
    String.raw`von meinem .{1,40} gesendet|gesendet (?:von|mit|über) .{1,60}|diese nachricht wurde von meinem .{1,80} gesendet`,
    String.raw`envoyé (?:de|depuis|à partir de) .{1,60}|téléchargez outlook pour .{1,40}`,
    String.raw`enviado desde .{1,60}|obtener outlook para .{1,40}|enviado (?:do|pelo|a partir do) .{1,60}`,
    String.raw`inviato (?:da|dal) .{1,60}|scarica outlook per .{1,40}`,
    String.raw`verstuurd vanaf .{1,60}|verzonden (?:vanaf|vanuit|met) .{1,60}`,
    String.raw`wysłane z .{1,60}|skickat från .{1,60}|sendt fra .{1,60}|lähetetty .{1,40}`,
    String.raw`отправлено (?:с|из) .{1,60}|发自.{1,40}|從我的.{1,20}傳送|(?:iphone|ipad|android)から送信|나의 .{1,20}에서 보냄|내 .{1,20}에서 보냄`,
  ].join('|')})\\.?$`,
  'iu',
);
