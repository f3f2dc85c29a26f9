/**
 * Reports in the form in which different receivers write them: declarations, namespaces, order of elements, white space
 * and what is missing are those of the sources, names and numbers are invented.
 */
export const VENDOR_DMARC_REPORTS: readonly { vendor: string; source: string; xml: string }[] = [
  {
    vendor: 'Google',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/blob/64d5eafaa13a7af410333b29a9794ab9eee342d2/testdata/dmarc-reports/google.xml',
    xml: `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <report_metadata>
    <org_name>google.com</org_name>
    <email>noreply-dmarc-support@google.com</email>
    <extra_contact_info>https://support.google.com/a/answer/2466580</extra_contact_info>
    <report_id>3166094538684628578</report_id>
    <date_range>
      <begin>1709683200</begin>
      <end>1709769599</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>example.com</domain>
    <adkim>r</adkim>
    <aspf>r</aspf>
    <p>reject</p>
    <sp>reject</sp>
    <pct>100</pct>
    <np>reject</np>
  </policy_published>
  <record>
    <row>
      <source_ip>2001:db8:3:0:21a:4aff:fea1:8a7b</source_ip>
      <count>2</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>pass</dkim>
        <spf>pass</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>example.com</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>example.com</domain>
        <result>pass</result>
        <selector>s1</selector>
      </dkim>
      <spf>
        <domain>example.com</domain>
        <result>pass</result>
      </spf>
    </auth_results>
  </record>
</feedback>
`,
  },
  {
    vendor: 'Microsoft',
    source:
      'https://github.com/mjl-/mox/blob/1c9587665b321199312e11b6a47a0480a9e2750f/testdata/dmarc-reports/outlook.eml',
    xml: `<?xml version="1.0"?>
<feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <version>0</version>
  <report_metadata>
    <org_name>Outlook.com</org_name>
    <email>dmarcreport@microsoft.com</email>
    <extra_contact_info />
    <report_id>8be4eb9d89044800947965b8a040291c</report_id>
    <date_range>
      <begin>1634256000</begin>
      <end>1634342400</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>example.com</domain>
    <adkim>s</adkim>
    <aspf>r</aspf>
    <p>quarantine</p>
    <sp>reject</sp>
    <pct>50</pct>
    <fo>1</fo>
  </policy_published>
  <record>
    <row>
      <source_ip>192.0.2.124</source_ip>
      <count>2</count>
      <policy_evaluated>
        <disposition>quarantine</disposition>
        <dkim>fail</dkim>
        <spf>fail</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <envelope_to>outlook.com</envelope_to>
      <envelope_from>bounce.example.net</envelope_from>
      <header_from>example.com</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>example.net</domain>
        <selector>mailer</selector>
        <result>pass</result>
      </dkim>
      <spf>
        <domain>bounce.example.net</domain>
        <scope>mfrom</scope>
        <result>softfail</result>
      </spf>
    </auth_results>
  </record>
</feedback>`,
  },
  {
    vendor: 'Yahoo',
    source:
      'https://github.com/mjl-/mox/blob/1c9587665b321199312e11b6a47a0480a9e2750f/testdata/dmarc-reports/yahoo.eml',
    xml: [
      '<?xml version="1.0"?>\t',
      '<feedback>\t',
      '  <report_metadata>\t',
      '    <org_name>Yahoo! Inc.</org_name>\t',
      '    <email>postmaster@dmarc.yahoo.com</email>\t',
      '    <report_id>1559613526.307161</report_id>\t',
      '    <date_range>\t',
      '      <begin>1559520000</begin>\t',
      '      <end>1559606399 </end>\t',
      '    </date_range>\t',
      '  </report_metadata>\t',
      '  <policy_published>\t',
      '    <domain>example.com</domain>\t',
      '    <adkim>r</adkim>\t',
      '    <aspf>r</aspf>\t',
      '    <p>reject</p>\t',
      '    <pct>100</pct>\t',
      '  </policy_published>\t',
      '  <record>\t',
      '    <row>\t',
      '      <source_ip>192.0.2.124</source_ip>\t',
      '      <count>1</count>\t',
      '      <policy_evaluated>\t',
      '        <disposition>none</disposition>\t',
      '        <dkim>pass</dkim>\t',
      '        <spf>pass</spf>\t',
      '      </policy_evaluated>\t',
      '    </row>\t',
      '    <identifiers>\t',
      '      <header_from>example.com</header_from>\t',
      '    </identifiers>\t',
      '    <auth_results>\t',
      '      <dkim>\t',
      '        <domain>example.com</domain>\t',
      '        <result>pass</result>\t',
      '      </dkim>\t',
      '      <spf>\t',
      '        <domain>example.com</domain>\t',
      '        <result>pass</result>\t',
      '      </spf>\t',
      '    </auth_results>\t',
      '  </record>\t',
      '</feedback>\t',
    ].join('\n'),
  },
  {
    vendor: 'Mail.ru, on one line and without DKIM results',
    source:
      'https://github.com/mjl-/mox/blob/1c9587665b321199312e11b6a47a0480a9e2750f/testdata/dmarc-reports/mailru.eml',
    xml: "<?xml version='1.0' encoding='utf-8'?>\n<feedback><report_metadata><org_name>Mail.Ru</org_name><email>dmarc_support@corp.mail.ru</email><extra_contact_info>http://help.mail.ru/mail-help</extra_contact_info><report_id>82403907998914102491559779200</report_id><date_range><begin>1559779200</begin><end>1559865600</end></date_range></report_metadata><policy_published><domain>example.com</domain><adkim>r</adkim><aspf>r</aspf><p>reject</p><sp>reject</sp><pct>100</pct></policy_published><record><row><source_ip>203.0.113.155</source_ip><count>1</count><policy_evaluated><disposition>reject</disposition><dkim>fail</dkim><spf>fail</spf></policy_evaluated></row><identifiers><header_from>example.com</header_from></identifiers><auth_results><spf><domain>shop.example.net</domain><scope>mfrom</scope><result>none</result></spf></auth_results></record></feedback>",
  },
  {
    vendor: 'Fastmail, without modes of alignment',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/aggregate/fastmail.com!example.com!1516060800!1516147199!102675056.xml.gz',
    xml: `<?xml version="1.0"?>
<feedback>
	<version>1.0</version>
	<report_metadata>
		<org_name>FastMail Pty Ltd</org_name>
		<email>reports@fastmaildmarc.com</email>
		<extra_contact_info>https://fastmail.com/</extra_contact_info>
		<report_id>102675056</report_id>
		<date_range>
			<begin>1516060800</begin>
			<end>1516147199</end>
		</date_range>
	</report_metadata>
	<policy_published>
		<domain>example.com</domain>
		<p>none</p>
		<sp>none</sp>
		<pct>100</pct>
		<fo>0</fo>
	</policy_published>
	<record>
		<row>
			<source_ip>192.0.2.20</source_ip>
			<count>1</count>
			<policy_evaluated>
				<disposition>none</disposition>
				<dkim>fail</dkim>
				<spf>fail</spf>
			</policy_evaluated>
		</row>
		<identifiers>
			<!-- The domain of the recipient. -->
			<envelope_to>fastmail.fm</envelope_to>
			<envelope_from>example.com</envelope_from>
			<header_from>example.com</header_from>
		</identifiers>
		<auth_results>
			<spf>
				<domain>example.com</domain>
				<scope>mfrom</scope>
				<result>softfail</result>
			</spf>
		</auth_results>
	</record>
</feedback>
`,
  },
  {
    vendor: 'AOL, with namespaces in single quotes over two lines',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/blob/64d5eafaa13a7af410333b29a9794ab9eee342d2/testdata/dmarc-reports/aol.xml',
    xml: `<?xml version="1.0" encoding="UTF-8"?>
<feedback xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'
    xmlns:ns1='http://dmarc.org/dmarc-xml/0.1' xsi:schemaLocation='http://dmarc.org/dmarc-xml/0.1 dmarc_agg_report.xsd'>
    <report_metadata>
        <org_name>AOL</org_name>
        <email>postmaster@aol.com</email>
        <report_id>example.com_1504828800</report_id>
        <date_range>
            <begin>1504742400</begin>
            <end>1504828800</end>
        </date_range>
    </report_metadata>
    <policy_published>
        <domain>example.com</domain>
        <adkim>r</adkim>
        <aspf>r</aspf>
        <p>reject</p>
        <sp>reject</sp>
        <pct>100</pct>
    </policy_published>
    <record>
        <row>
            <source_ip>192.0.2.125</source_ip>
            <count>1</count>
            <policy_evaluated>
                <disposition>none</disposition>
                <dkim>pass</dkim>
                <spf>pass</spf>
            </policy_evaluated>
        </row>
        <identifiers>
            <header_from>example.com</header_from>
        </identifiers>
        <auth_results>
            <dkim>
                <domain>example.com</domain>
                <result>pass</result>
            </dkim>
            <spf>
                <domain>example.com</domain>
                <scope>mfrom</scope>
                <result>pass</result>
            </spf>
        </auth_results>
    </record>
</feedback>`,
  },
  {
    vendor: 'GMX, in the namespace of RFC 9990',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/blob/64d5eafaa13a7af410333b29a9794ab9eee342d2/testdata/dmarc-reports/gmxnet.xml',
    xml: `<?xml version="1.0" encoding="UTF-8"?>
<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">
   <version>1.0</version>
   <report_metadata>
      <org_name>GMX</org_name>
      <email>noreply-dmarc@sicher.gmx.net</email>
      <extra_contact_info>https://postmaster.gmx.net/en/case?c=r2002</extra_contact_info>
      <report_id>6d2be94cbabf4e838a3cf58fb4a42ab5</report_id>
      <date_range>
         <begin>1733184000</begin>
         <end>1733270399</end>
      </date_range>
   </report_metadata>
   <policy_published>
      <domain>example.com</domain>
      <discovery_method>psl</discovery_method>
      <adkim>r</adkim>
      <aspf>r</aspf>
      <p>reject</p>
      <sp>reject</sp>
      <testing>n</testing>
   </policy_published>
   <record>
      <row>
         <source_ip>192.0.2.44</source_ip>
         <count>1</count>
         <policy_evaluated>
            <disposition>none</disposition>
            <dkim>pass</dkim>
            <spf>pass</spf>
         </policy_evaluated>
      </row>
      <identifiers>
         <envelope_from>example.com</envelope_from>
         <header_from>example.com</header_from>
      </identifiers>
      <auth_results>
         <dkim>
            <domain>example.com</domain>
            <selector>abc123</selector>
            <result>pass</result>
         </dkim>
         <spf>
            <domain>example.com</domain>
            <scope>mfrom</scope>
            <result>pass</result>
         </spf>
      </auth_results>
   </record>
</feedback>
`,
  },
  {
    vendor: 'Amazon SES, with two DKIM results',
    source:
      'https://github.com/ericdaugherty/dmarc/blob/c46cdbb83be78a52f3deab9d4f2d7e870eee3c13/inbound/inbound_test.go',
    xml: `<?xml version="1.0"?>
<feedback>
	<version>0.1</version>
	<report_metadata>
		<org_name>AMAZON-SES</org_name>
		<email>postmaster@amazonses.com</email>
		<report_id>d03e5d94-5e90-4245-8fd9-7c4984e6d193</report_id>
		<date_range>
			<begin>1741305600</begin>
			<end>1741392000</end>
		</date_range>
	</report_metadata>
	<policy_published>
		<domain>example.org</domain>
		<adkim>r</adkim>
		<aspf>r</aspf>
		<p>none</p>
		<sp>none</sp>
		<pct>100</pct>
		<fo>0</fo>
	</policy_published>
	<record>
		<row>
			<source_ip>192.0.2.190</source_ip>
			<count>1</count>
			<policy_evaluated>
				<disposition>none</disposition>
				<dkim>pass</dkim>
				<spf>fail</spf>
			</policy_evaluated>
		</row>
		<identifiers>
			<envelope_from>bounces.example.net</envelope_from>
			<header_from>example.org</header_from>
		</identifiers>
		<auth_results>
			<dkim>
				<domain>example.net</domain>
				<result>pass</result>
			</dkim>
			<dkim>
				<domain>example.org</domain>
				<result>pass</result>
			</dkim>
			<spf>
				<domain>bounces.example.net</domain>
				<result>pass</result>
			</spf>
		</auth_results>
	</record>
</feedback>
`,
  },
  {
    vendor: 'KDDI, with an empty reason',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/issues/21, https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/aggregate/empty_reason.xml',
    xml: `<?xml version="1.0" encoding="UTF-8"?>
<feedback>
  <version>1.0</version>
  <report_metadata>
    <org_name>kddi.com</org_name>
    <email>noreply-dmarc-support@kddi.com</email>
    <extra_contact_info>https://support.kddi.com/dmarc</extra_contact_info>
    <report_id>20240125141224705995</report_id>
    <date_range>
      <begin>1706159544</begin>
      <end>1706185733</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>example.com</domain>
    <adkim>r</adkim>
    <aspf>r</aspf>
    <p>quarantine</p>
    <sp>quarantine</sp>
    <pct>100</pct>
    <fo>1</fo>
  </policy_published>
  <record>
    <row>
      <source_ip>198.51.100.123</source_ip>
      <count>2</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>pass</dkim>
        <spf>fail</spf>
        <reason>
          <type></type>
          <comment></comment>
        </reason>
      </policy_evaluated>
    </row>
    <identifiers>
      <envelope_to>example.net</envelope_to>
      <envelope_from>example.edu</envelope_from>
      <header_from>example.com</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>example.com</domain>
        <selector>example</selector>
        <result>pass</result>
        <human_result>2048-bit key</human_result>
      </dkim>
      <spf>
        <domain>example.edu</domain>
        <scope>mfrom</scope>
        <result>pass</result>
      </spf>
    </auth_results>
  </record>
</feedback>
`,
  },
  {
    vendor: 'IKEA, within a schema that is never closed',
    source: 'https://github.com/domainaware/parsedmarc/issues/18',
    xml: `<?xml version="1.0"?> <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://dmarc.org/dmarc-xml/0.1">
<feedback>
  <report_metadata>
    <org_name>ikea.com</org_name>
    <email>double-bounce@ikea.com</email>
    <report_id>aggr_report_2018_10_05_5bc7e9b4f3e8a</report_id>
    <date_range>
      <begin>1538690400</begin>
      <end>1538776800</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>example.de</domain>
    <adkim>r</adkim>
    <aspf>r</aspf>
    <p>none</p>
    <sp>none</sp>
    <pct>100</pct>
    <fo>0</fo>
  </policy_published>
  <record>
    <row>
      <source_ip>203.0.113.234</source_ip>
      <count>1</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>fail</dkim>
        <spf>fail</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>example.de</header_from>
      <envelope_from>example.de</envelope_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>example.de</domain>
        <result>pass</result>
      </dkim>
      <spf>
        <domain>relay.example.net</domain>
        <scope>helo</scope>
        <result>none</result>
      </spf>
    </auth_results>
  </record>
</feedback>`,
  },
  {
    vendor: 'an appliance that writes results with capitals',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/aggregate_invalid/report_with_upper_cased_pass.xml',
    xml: `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
 <report_metadata>
  <org_name>example.net </org_name>
  <email>postmaster@example.net</email>
  <report_id>aggr_report_example.com_20191202_1638</report_id>
  <date_range>
   <begin>1574955300</begin>
   <end>1575304683</end>
  </date_range>
 </report_metadata>
 <policy_published>
  <domain>example.com</domain>
  <adkim>r</adkim>
  <aspf>r</aspf>
  <p>reject</p>
  <pct>100</pct>
 </policy_published>
 <record>
  <row>
   <source_ip>192.0.2.189</source_ip>
   <count>1</count>
   <policy_evaluated>
    <disposition>None</disposition>
    <dkim>Pass</dkim>
    <spf>Pass</spf>
   </policy_evaluated>
  </row>
  <identifiers>
   <header_from>example.com</header_from>
  </identifiers>
  <auth_results>
   <dkim>
    <domain>example.com</domain>
    <result>Pass</result>
    <human_result>verify result: all signatures verified</human_result>
   </dkim>
   <spf>
    <domain>example.com</domain>
    <result>Pass</result>
   </spf>
  </auth_results>
 </record>
</feedback>
`,
  },
  {
    vendor: 'a receiver that writes hardfail and empty domains',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/blob/64d5eafaa13a7af410333b29a9794ab9eee342d2/testdata/dmarc-reports/hardfail.xml',
    xml: `<?xml version="1.0" encoding="utf-8"?>
<feedback>
    <report_metadata>
        <org_name></org_name>
        <email>reporting@example.net</email>
        <report_id>abcdef</report_id>
        <date_range>
            <begin>1727049600</begin>
            <end>1727135999</end>
        </date_range>
    </report_metadata>
    <policy_published>
        <adkim>r</adkim>
        <domain>example.com</domain>
        <aspf>r</aspf>
        <p>quarantine</p>
        <pct>100</pct>
        <sp>quarantine</sp>
    </policy_published>
    <record>
        <row>
            <source_ip>192.0.2.42</source_ip>
            <count>1</count>
            <policy_evaluated>
                <disposition>quarantine</disposition>
                <dkim>fail</dkim>
                <spf>fail</spf>
            </policy_evaluated>
        </row>
        <identifiers>
            <header_from>example.com</header_from>
        </identifiers>
        <auth_results>
            <dkim>
                <result>fail</result>
                <domain></domain>
                <selector></selector>
            </dkim>
            <spf>
                <domain>example.com</domain>
                <result>hardfail</result>
            </spf>
        </auth_results>
    </record>
</feedback>`,
  },
  {
    vendor: 'the form of RFC 9990',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/aggregate/rfc9990-sample.xml',
    xml: `<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">
  <version>1.0</version>
  <report_metadata>
    <org_name>Sample Reporter</org_name>
    <email>report_sender@reporter.example</email>
    <extra_contact_info>...</extra_contact_info>
    <report_id>3v98abbp8ya9n3va8yr8oa3ya</report_id>
    <date_range>
      <begin>1700000000</begin>
      <end>1700086399</end>
    </date_range>
    <generator>Example DMARC Aggregate Reporter v1.2</generator>
  </report_metadata>
  <policy_published>
    <domain>example.com</domain>
    <p>quarantine</p>
    <sp>none</sp>
    <np>reject</np>
    <testing>y</testing>
    <discovery_method>treewalk</discovery_method>
  </policy_published>
  <record>
    <row>
      <source_ip>192.0.2.123</source_ip>
      <count>123</count>
      <policy_evaluated>
        <disposition>pass</disposition>
        <dkim>pass</dkim>
        <spf>fail</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <envelope_from>example.com</envelope_from>
      <header_from>example.com</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>example.com</domain>
        <result>pass</result>
        <selector>abc123</selector>
      </dkim>
      <spf>
        <domain>example.com</domain>
        <result>fail</result>
      </spf>
    </auth_results>
  </record>
</feedback>
`,
  },
];
