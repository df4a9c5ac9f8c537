//! The currencies of ISO 4217 in which electricity is billed, with their decimals.

/// Decimals of a currency's smallest unit; `None` when the code is not known.
pub(super) fn currency_decimals(code: &str) -> Option<u32> {
    LISTS.iter().find(|(list, _)| list.split_ascii_whitespace().any(|known| known == code)).map(|(_, n)| *n)
}

/// Every code that is known.
pub(super) fn currencies() -> impl Iterator<Item = &'static str> {
    LISTS.iter().flat_map(|(list, _)| list.split_ascii_whitespace())
}

/// Codes and their decimals.
const LISTS: [(&str, u32); 3] = [(TWO, 2), (WITHOUT, 0), (THREE, 3)];
const WITHOUT: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
const THREE: &str = "BHD IQD JOD KWD LYD OMR TND";
const TWO: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF \
    CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF \
    IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK \
    MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE \
    SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW ZWG";
